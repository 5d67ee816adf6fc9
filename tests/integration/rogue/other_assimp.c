/* Preloaded into a program, makes its Assimp report another version, as on another Debian release. */
unsigned aiGetVersionMinor(void);
unsigned aiGetVersionMinor(void)
{
	return 99;
}
