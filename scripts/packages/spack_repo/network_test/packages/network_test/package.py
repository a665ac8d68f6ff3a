# spack repo add scripts/packages/spack_repo/network_test && spack install network-test@main
from spack.package import *
from spack_repo.builtin.build_systems.cargo import CargoPackage


class NetworkTest(CargoPackage):
    """Measures every pair of MPI processes of a cluster over message lengths, and names the node, cable or switch that is
    slow."""

    # The folder of a clone, or the release that scripts/packages/tarball makes: set both to where your site keeps them.
    homepage = "https://localhost/network_test"
    url = "file:///srv/network_test-0.1.0.tar.gz"
    git = "file:///srv/network_test.git"

    license("MIT OR Apache-2.0")

    version("main", branch="main")
    version("0.1.0", url="file:///srv/network_test-0.1.0.tar.gz")

    variant("mpi", default=True, description="Build network_test, which measures; without it network_analyze alone")

    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("netcdf-c")
    depends_on("mpi", when="+mpi")
    # bindgen, which reads the MPI's header, loads libclang.
    depends_on("llvm", type="build", when="+mpi")

    @property
    def build_args(self):
        return ["--locked"] + ([] if self.spec.satisfies("+mpi") else ["--no-default-features"])

    @property
    def check_args(self):
        return ["--lib"] + self.build_args

    def setup_build_environment(self, env):
        if self.spec.satisfies("+mpi"):
            env.set("MPICC", self.spec["mpi"].mpicc)
            env.set("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)

    @run_after("install")
    def pages_and_completions(self):
        analyze = Executable(self.prefix.bin.network_analyze)
        programs = [(analyze, "network_analyze", ["generate"])]
        if self.spec.satisfies("+mpi"):
            programs.append((Executable(self.prefix.bin.network_test), "network_test", ["--generate"]))
        mkdirp(self.prefix.share.man.man1)
        for program, name, generate in programs:
            program(*generate, "man", "man")
            program(*generate, "completions", "completions")
            mkdirp(bash_completion_path(self.prefix), fish_completion_path(self.prefix), zsh_completion_path(self.prefix))
            install(f"completions/{name}.bash", join_path(bash_completion_path(self.prefix), name))
            install(f"completions/{name}.fish", fish_completion_path(self.prefix))
            install(f"completions/{name}.zsh", join_path(zsh_completion_path(self.prefix), f"_{name}"))
        for section in "157":
            mkdirp(join_path(self.prefix.share.man, f"man{section}"))
            install(f"man/*.{section}", join_path(self.prefix.share.man, f"man{section}"))
