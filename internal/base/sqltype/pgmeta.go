package sqltype

// The types that only PostgreSQL's own catalogs have. No table of a policy has columns of them.
const (
	OIDInt2Vector   OID = 22
	OIDRegproc      OID = 24
	OIDTid          OID = 27
	OIDXid          OID = 28
	OIDCid          OID = 29
	OIDOidVector    OID = 30
	OIDNodeTree     OID = 194
	OIDInet         OID = 869
	OIDAclItem      OID = 1033
	OIDRegprocedure OID = 2202
	OIDRegoper      OID = 2203
	OIDRegoperator  OID = 2204
	OIDRegclass     OID = 2205
	OIDRegtype      OID = 2206
	OIDAnyArray     OID = 2277 // what pg_attribute and pg_stats declare
	OIDVoid         OID = 2278
	OIDLSN          OID = 3220
	OIDNDistinct    OID = 3361
	OIDDependencies OID = 3402
	OIDRegconfig    OID = 3734
	OIDRegdict      OID = 3769
	OIDRegnamespace OID = 4089
	OIDRegrole      OID = 4096
	OIDRegcollation OID = 4191
	OIDMCVList      OID = 5017
)

// metaType is what is known of one of them: its length, the OID of its arrays, and whether its values are numbers or texts.
type metaType struct {
	name   string
	len    int16
	array  OID
	number bool
	reg    bool // a number that is shown as a name
}

var metaTypes = map[OID]metaType{
	OIDRegproc: {"regproc", 4, 1008, true, true}, OIDRegprocedure: {"regprocedure", 4, 2207, true, true}, OIDRegoper: {"regoper", 4, 2208, true, true},
	OIDRegoperator: {"regoperator", 4, 2209, true, true}, OIDRegclass: {"regclass", 4, 2210, true, true}, OIDRegtype: {"regtype", 4, 2211, true, true},
	OIDRegconfig: {"regconfig", 4, 3735, true, true}, OIDRegdict: {"regdictionary", 4, 3770, true, true}, OIDRegnamespace: {"regnamespace", 4, 4090, true, true},
	OIDRegrole: {"regrole", 4, 4097, true, true}, OIDRegcollation: {"regcollation", 4, 4192, true, true},
	OIDXid: {"xid", 4, 1011, true, false}, OIDCid: {"cid", 4, 1012, true, false},
	OIDTid: {"tid", 6, 1010, false, false}, OIDNodeTree: {"pg_node_tree", -1, 0, false, false}, OIDInet: {"inet", -1, 1041, false, false}, OIDAclItem: {"aclitem", 12, 1034, false, false},
	OIDAnyArray: {"anyarray", -1, 0, false, false}, OIDVoid: {"void", 4, 0, false, false}, OIDLSN: {"pg_lsn", 8, 3221, false, false}, OIDNDistinct: {"pg_ndistinct", -1, 0, false, false},
	OIDDependencies: {"pg_dependencies", -1, 0, false, false}, OIDMCVList: {"pg_mcv_list", -1, 0, false, false},
}

// vectors are the arrays of catalogs: counted from 0, and written with blanks.
var vectors = map[OID]OID{OIDInt2Vector: OIDInt2, OIDOidVector: OIDOid}

var vectorNames = map[OID]string{OIDInt2Vector: "int2vector", OIDOidVector: "oidvector"}

func init() {
	for oid, m := range metaTypes {
		typeNames[oid] = m.name
		if m.array != 0 {
			arrayOf[oid], elemOf[m.array] = m.array, oid
		}
	}
	for v, e := range vectors {
		elemOf[v] = e
	}
	arrayOf[OIDInt2Vector], arrayOf[OIDOidVector] = 1006, 1013
}

// IsCatalogType reports a type that only catalogs have, or an array of one.
func (t Type) IsCatalogType() bool {
	if e, ok := t.Elem(); ok {
		if _, vector := vectors[t.OID]; vector {
			return true
		}
		t = e
	}
	_, ok := metaTypes[t.OID]
	return ok
}

// IsReg reports a type whose values are OIDs that are shown as names.
func (t Type) IsReg() bool { return metaTypes[t.OID].reg }

// IsObject reports oid, xid and the like, and the types whose values are OIDs that are shown as names.
func (t Type) IsObject() bool { return t.OID == OIDOid || metaTypes[t.OID].number }

// IsVector reports int2vector and oidvector.
func (t Type) IsVector() bool { _, ok := vectors[t.OID]; return ok }

// Named is an OID with the name by which it is shown: what an answer has of a regclass and the like.
type Named struct {
	OID  uint32
	Name string
}
