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

/** Maximum number of nodes shown; others can be requested by name. */
const maxNodes = 500

/** Lists the direct child namespaces that policies mention, and whether policies mention some beneath them. */
export function listNamespaces(documents: readonly PolicyDocument[], above: Identifier) {
  const found = new Map<string, { policies: string[]; hasChildren: boolean }>()
  for (const { namespace, name: policy } of documents) {
    const name = namespace[above.length]
    if (name === undefined || !above.every((part, index) => namespace[index] === part)) continue
    const node = found.get(name) ?? { policies: [], hasChildren: false }
    if (namespace.length === above.length + 1) node.policies.push(policy)
    else node.hasChildren = true
    found.set(name, node)
  }
  const nodes = [...found].map(([name, node]) => ({ name, ...node }))
  const sorted = nodes.toSorted((one, other) => (one.name < other.name ? -1 : 1))
  return { nodes: sorted.slice(0, maxNodes), omitted: Math.max(0, sorted.length - maxNodes) }
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
