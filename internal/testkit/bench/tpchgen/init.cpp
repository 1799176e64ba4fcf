//go:build tpchgen

// DuckDB's C++ headers are not in the Go module, so the few things that are used of it are declared here, as DuckDB 1.5.5 (bindings
// v0.10505.0) has them: main.go refuses any other version.
#include <memory>
#include <string>

namespace duckdb {
class DatabaseInstance;
class DuckDB { // its first member
public:
	std::shared_ptr<DatabaseInstance> instance;
};
class ExtensionLoader {
public:
	ExtensionLoader(DatabaseInstance &db, const std::string &extension_name);
	void FinalizeLoad();
	char members[512]; // more than there are
};
} // namespace duckdb

extern "C" {
void tpch_duckdb_cpp_init(duckdb::ExtensionLoader &loader);
void tpcds_duckdb_cpp_init(duckdb::ExtensionLoader &loader);

// A duckdb_database points to a struct whose first member is the shared pointer to the DuckDB.
int tpchgen_register(void *database) {
	try {
		auto &db = *static_cast<std::shared_ptr<duckdb::DuckDB> *>(database);
		duckdb::ExtensionLoader tpch(*db->instance, "tpch");
		tpch_duckdb_cpp_init(tpch);
		tpch.FinalizeLoad();
		duckdb::ExtensionLoader tpcds(*db->instance, "tpcds");
		tpcds_duckdb_cpp_init(tpcds);
		tpcds.FinalizeLoad();
		return 0;
	} catch (...) {
		return 1;
	}
}
}
