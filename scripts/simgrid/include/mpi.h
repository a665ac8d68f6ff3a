/* SimGrid's mpi.h with the two declarations that rsmpi's bindings expect otherwise: MPI_SUCCESS is a macro (MPI 3.1
 * allows both, bindgen takes macros), and MPI_Comm_spawn_multiple takes `const` arrays as MPI 3.1 has it. */
#ifndef NETWORK_TEST_SIMGRID_MPI_H
#define NETWORK_TEST_SIMGRID_MPI_H

#define MPI_Comm_spawn_multiple simgrid_comm_spawn_multiple
#include_next <mpi.h>
#undef MPI_Comm_spawn_multiple

#define MPI_SUCCESS 0

#ifdef __cplusplus
extern "C"
#endif
int MPI_Comm_spawn_multiple(int count, char *commands[], char **arguments[], const int most[], const MPI_Info infos[],
                            int root, MPI_Comm communicator, MPI_Comm *children, int codes[]);

#endif
