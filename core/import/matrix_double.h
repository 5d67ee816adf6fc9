/* matrix_double.h - 4 x 4 matrices of doubles, column by column, for readers that compute in double. */
#ifndef HOB_MATRIX_DOUBLE_H
#define HOB_MATRIX_DOUBLE_H

/* a * b; out may alias. */
void hob_matrix_multiply_double(const double a[16], const double b[16], double out[16]);

/* The upper left 3 x 3 of any matrix as turn * scale * inner turn, so that two nested nodes hold shear.
 *
 * m        finite; its translation does not count
 * outer    the turn of the outer node, a unit quaternion x y z w. In: where to begin; what a moment before
 *          had gives turns that go on from there.
 * scale    out: its scale; may be negative
 * inner    in and out, the turn of the inner node, as `outer`
 * Source   singular values by one-sided Jacobi turns (Hestenes 1958). */
void hob_matrix_split_double(const double m[16], double outer[4], double scale[3], double inner[4]);

#endif
