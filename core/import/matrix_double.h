/* matrix_double.h - column-major 4 x 4 matrices of doubles, for readers that compute in double. */
#ifndef HOB_MATRIX_DOUBLE_H
#define HOB_MATRIX_DOUBLE_H

/* a * b; out may alias. */
void hob_matrix_multiply_double(const double a[16], const double b[16], double out[16]);

/* Splits the upper left 3 x 3 of any matrix into rotation * scale * inner rotation, so that two nested nodes
 * can represent shear.
 *
 * m        finite; its translation is ignored
 * outer    in/out: rotation of the outer node, a unit quaternion x y z w. In: the starting point of the
 *          iteration; pass the previous frame's result for continuous rotations.
 * scale    out: scale of the outer node; may be negative
 * inner    in/out: rotation of the inner node, as `outer`
 * Source   singular values by one-sided Jacobi rotations (Hestenes 1958). */
void hob_matrix_split_double(const double m[16], double outer[4], double scale[3], double inner[4]);
/* a * b of quaternions x y z w; `out` may be one of them. */
void hob_quat_multiply_double(const double a[4], const double b[4], double out[4]);

#endif
