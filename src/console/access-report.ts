import {
  formatIdentifierText,
  type Identifier,
  isExtraOperationName,
  type Permission,
  permissionGroups,
} from '../catalog-api/index.ts'
import { groupBy } from '../lib/index.ts'
import {
  isNamespaceMember,
  listPermissions,
  listTableRules,
  objectPosition,
  type PolicyDocument,
  type PolicySet,
  readsPart,
  type Sight,
  whoCan,
} from '../policy/index.ts'

const disjointGroups = [...permissionGroups].filter(
  ([name]) => !['index', 'schema', 'read', 'change', 'all'].includes(name),
)

/** Maximum number of suggested namespaces; others can be requested by name. */
const maxNamespaces = 500

/** Lists the namespaces that policies are about, as commands read them. */
export function listNamespaces(documents: readonly PolicyDocument[]): readonly string[] {
  const names = new Set(documents.map(({ namespace }) => formatIdentifierText(namespace)))
  return [...names].toSorted().slice(0, maxNamespaces)
}

/** As `policy who-can` does. For a namespace, operations on tables apply to any table in it, whatever its name. */
export function createAccessReport(set: PolicySet, kind: 'namespace' | 'table', id: Identifier) {
  const isTable = kind === 'table'
  const position = isTable ? objectPosition(kind, id) : { namespace: id, table: undefined }
  const extra = listPermissions(set.documents).filter(isExtraOperationName)
  const groups = [...disjointGroups, ['extra operations', extra] as const]
    .map(([name, permissions]) => ({
      name,
      operations: permissions.filter((one) => !isTable || isNamespaceMember(one)),
    }))
    .filter(({ operations }) => operations.length > 0)
  const found = groups
    .flatMap(({ operations }) => operations)
    .map((operation) => ({ operation, ...whoCan(set, operation, position) }))
  const grants = found.flatMap(({ operation, allowed }) => allowed.map((one) => ({ operation, ...one })))
  const ofCallers = groupBy(grants, ({ subject: { kind, name } }) => `${kind} ${name}`)
  return {
    /** The object, as commands read it. */
    id: formatIdentifierText(id),
    groups,
    /** Of a table: its tagged columns. */
    columns: found[0]?.columns ?? [],
    callers: [...ofCallers.values()].flatMap((grants) =>
      grants.slice(0, 1).map(({ subject }) => ({
        subject,
        /** By operation, subject to conditions and to rules that may deny it. */
        grants,
        /** Of a table: what a caller that is the subject and nothing else sees of it, at best. */
        sees: isTable ? findSight(grants) : undefined,
      })),
    ),
    /** Rules of a namespace that additionally decide on tables of these names. */
    forTables: isTable ? [] : listTableRules(set, id),
  }
}

function findSight(grants: readonly { readonly operation: Permission; readonly sees: Sight }[]): Sight {
  const sights = new Set(grants.flatMap(({ operation, sees }) => (readsPart(operation) ? [sees] : [])))
  return (['all', 'part'] as const).find((sight) => sights.has(sight)) ?? 'nothing'
}
