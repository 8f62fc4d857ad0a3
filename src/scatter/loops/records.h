/* Updates in records, for PARTITION (partition.pxd): each is a position in a tile, in bytes, as a native uint32_t, then an
   element of 4 or 8 bytes. */
#ifndef GS_RECORDS_H
#define GS_RECORDS_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
/* Where a loop notes which elements of a tile have had an update. */
enum {
    GS_UNMARKED,    /* nowhere */
    GS_BITS,        /* bit i % 32 of word i / 32 of `bits` is for element i */
    GS_FIRST_BITS,  /* the same, and the first update of an element replaces it */
    GS_CELLS        /* the tile consists of cells (cells.hpp) */
};

/* A loop that applies n adjacent records, in order, to the elements of a tile. */
typedef void (*gs_record_loop)(char *tile, uint32_t *bits, const char *records, ptrdiff_t n);

/* The loop for a ReductionCode of a TypeCode, with such marks; NULL: there is none. */
gs_record_loop gs_reduction_of_records(int reduction, int type, int marks);
/* The loop that assigns elements of so many bytes; NULL: there is none. */
gs_record_loop gs_assignment_of_records(ptrdiff_t bytes);
/* The loop that adds float32 to float64, for short records: a uint16_t, which is the number of the element, then the
   float32. */
gs_record_loop gs_short_sums(void);
#ifdef __cplusplus
}
#endif

#endif
