#include "matrix_double.h"

#include <string.h>

void hob_matrix_multiply_double(const double a[16], const double b[16], double out[16])
{
	double product[16];
	for (int column = 0; column < 4; column++)
		for (int row = 0; row < 4; row++) {
			double sum = 0;
			for (int k = 0; k < 4; k++)
				sum += a[k * 4 + row] * b[column * 4 + k];
			product[column * 4 + row] = sum;
		}
	memcpy(out, product, sizeof product);
}
