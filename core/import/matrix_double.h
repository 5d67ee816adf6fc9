/* matrix_double.h - 4 x 4 matrices of doubles, column by column, for readers that compute in double. */
#ifndef HOB_MATRIX_DOUBLE_H
#define HOB_MATRIX_DOUBLE_H

/* a * b; out may alias. */
void hob_matrix_multiply_double(const double a[16], const double b[16], double out[16]);

#endif
