import java.sql.*;
import java.util.*;

/** pgjdbc: DatabaseMetaData, a statement prepared and run 7 times (binary from the 5th), fetch size, a time-out, SQLSTATEs. */
public class Jdbc {
    static void list(String what, ResultSet r, String... columns) throws SQLException {
        while (r.next()) {
            StringJoiner s = new StringJoiner(" ");
            for (String c : columns) s.add(String.valueOf(r.getString(c)));
            System.out.println(what + ": " + s);
        }
    }

    public static void main(String[] args) throws Exception {
        Connection c = DriverManager.getConnection("jdbc:postgresql://" + args[0] + "/demo?options=-c%20dpsql.notices=brief%20-c%20dpsql.expected_size=5000%20-c%20statement_timeout=30s", "analyst", "demo");
        DatabaseMetaData m = c.getMetaData();
        System.out.println("server: " + m.getDatabaseProductName() + " " + m.getDatabaseMajorVersion());
        for (String name : new String[] {"dpsql.expected_size", "statement_timeout"}) {
            try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SHOW " + name)) {
                r.next();
                System.out.println("by options: " + name + " " + r.getString(1));
            }
        }
        list("schema", m.getSchemas(), "TABLE_SCHEM");
        list("table", m.getTables(null, "public", "%", new String[] {"TABLE"}), "TABLE_NAME", "TABLE_TYPE");
        list("column", m.getColumns(null, "public", "patients", "%"), "COLUMN_NAME", "TYPE_NAME", "DATA_TYPE", "IS_NULLABLE");
        list("key", m.getPrimaryKeys(null, "public", "encounters"), "COLUMN_NAME", "PK_NAME");
        list("references", m.getImportedKeys(null, "public", "encounters"), "FKCOLUMN_NAME", "PKTABLE_NAME", "PKCOLUMN_NAME");
        list("referenced by", m.getExportedKeys(null, "public", "encounters"), "FKTABLE_NAME", "FKCOLUMN_NAME");
        list("index", m.getIndexInfo(null, "public", "encounters", false, false), "INDEX_NAME", "COLUMN_NAME", "NON_UNIQUE");
        list("privilege", m.getTablePrivileges(null, "public", "patients"), "GRANTEE", "PRIVILEGE");
        int types = 0;
        for (ResultSet r = m.getTypeInfo(); r.next();) types++;
        System.out.println("types: " + (types > 50) + ", functions: " + m.getFunctions(null, "pg_catalog", "lower").next());

        try (PreparedStatement p = c.prepareStatement("SELECT count(*), avg(medications) FROM encounters WHERE medications >= ?")) {
            ResultSetMetaData d = p.getMetaData();
            System.out.println("described: " + d.getColumnName(1) + " " + d.getColumnTypeName(1) + ", " + d.getColumnName(2) + " " + d.getColumnTypeName(2) + ", parameter " + p.getParameterMetaData().getParameterTypeName(1));
            Set<Long> seen = new HashSet<>();
            for (int i = 0; i < 7; i++) {
                p.setInt(1, 17);
                ResultSet r = p.executeQuery();
                r.next();
                seen.add(r.getLong(1));
                if (i == 0) {
                    System.out.printf("count: ~%d, mean: ~%.1f%n", r.getLong(1), r.getBigDecimal(2));
                    System.out.println("a notice tells the price: " + String.valueOf(p.getWarnings()).contains("price"));
                }
            }
            System.out.println("run 7 times, the same answer: " + (seen.size() == 1));
        }
        try (PreparedStatement p = c.prepareStatement("SELECT count(*) FROM encounters WHERE readmitted = ANY(?)")) {
            p.setArray(1, c.createArrayOf("text", new String[] {"NO", "<30"}));
            ResultSet r = p.executeQuery();
            r.next();
            System.out.println("a list: ~" + r.getLong(1));
        }
        c.setAutoCommit(false);
        try (PreparedStatement p = c.prepareStatement("SELECT readmitted, count(*) FROM encounters GROUP BY 1 ORDER BY 1")) {
            p.setFetchSize(1);
            for (ResultSet r = p.executeQuery(); r.next();) System.out.println("fetched: " + r.getString(1) + " ~" + r.getLong(2));
        }
        c.commit();
        c.setAutoCommit(true);
        c.setSchema("dpsql");
        System.out.println("schema: " + c.getSchema());
        for (String sql : new String[] {"SELECT count(*) > 0 AS own FROM budget", "SELECT * FROM admission_types"}) {
            try (Statement s = c.createStatement()) {
                list(sql, s.executeQuery(sql), "own");
            } catch (SQLException e) {
                System.out.println(sql + ": " + e.getSQLState());
            }
        }
        c.setSchema("public");
        try (PreparedStatement p = c.prepareStatement("SELECT id, description FROM admission_types ORDER BY id")) {
            p.setMaxRows(2);
            ResultSet r = p.executeQuery();
            System.out.println("column of " + r.getMetaData().getTableName(1) + ", nullable " + r.getMetaData().isNullable(1));
            list("public row", r, "id", "description");
        }
        for (String sql : new String[] {"SELECT * FROM patients", "SELECT nothing FROM patients", "SELECT * FROM nothing"}) {
            try (Statement s = c.createStatement()) {
                s.executeQuery(sql);
            } catch (SQLException e) {
                System.out.println(sql + ": " + e.getSQLState() + " " + e.getMessage().split("\n")[0]);
            }
        }
        try (Statement s = c.createStatement()) {
            s.setQueryTimeout(1);
            s.executeQuery("SELECT pg_sleep(10)");
        } catch (SQLException e) {
            System.out.println("query time-out: " + e.getSQLState());
        }
        try (Statement s = c.createStatement()) {
            Timer timer = new Timer(true);
            timer.schedule(new TimerTask() {
                public void run() { // until it has begun, and ends
                    try {
                        s.cancel();
                    } catch (SQLException e) {
                        System.err.println(e);
                    }
                }
            }, 200, 200);
            try {
                s.executeQuery("SELECT pg_sleep(20)");
            } catch (SQLException e) {
                System.out.println("cancel: " + e.getSQLState());
            }
            timer.cancel();
        }
        c.close();
    }
}
