/* Preloaded into a program: it sees the Assimp of another suite. */
unsigned aiGetVersionMinor(void);
unsigned aiGetVersionMinor(void)
{
	return 99;
}
