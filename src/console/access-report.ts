import {
  formatIdentifierText,
  type Identifier,
  isExtraOperationName,
  permissionNames,
} from '../catalog-api/index.ts'
import { groupBy } from '../lib/index.ts'
import {
  formatGrants,
  formatPart,
  formatPolicySubject,
  formatRule,
  isNamespaceMember,
  listPermissions,
  listTableRules,
  objectPosition,
  type PolicyDocument,
  type PolicySet,
  whoCan,
} from '../policy/index.ts'

/** Maximum number of suggested namespaces; others can be requested by name. */
const maxNamespaces = 500

function listNamespaces(documents: readonly PolicyDocument[]): readonly string[] {
  const names = new Set(documents.map(({ namespace }) => formatIdentifierText(namespace)))
  return [...names].toSorted().slice(0, maxNamespaces)
}

/**
 * Lists who may do what on an object, as `policy who-can` does for each operation. For a namespace, operations on tables
 * apply to tables of any name in it, and rules for some names are listed apart.
 */
export function createAccessReport(set: PolicySet, kind: 'namespace' | 'table', id: Identifier) {
  const isTable = kind === 'table'
  const position = isTable ? objectPosition(kind, id) : { namespace: id, table: undefined }
  const extra = listPermissions(set.documents).filter(isExtraOperationName)
  const grants = [...permissionNames, ...extra]
    .filter((operation) => !isTable || isNamespaceMember(operation))
    .flatMap((operation) =>
      whoCan(set, operation, position).allowed.map((grant) => ({
        operation,
        grant: { ...grant, sees: undefined },
      })),
    )
  const alike = [...groupBy(grants, ({ grant }) => JSON.stringify(grant)).values()].flatMap((own) => {
    const operations = own.map(({ operation }) => operation)
    return own.slice(0, 1).map(({ grant }) => ({ ...grant, operations }))
  })
  const ofCallers = groupBy(alike, ({ subject }) => formatPolicySubject(subject))
  return {
    /** The object, as commands read it. */
    id: formatIdentifierText(id),
    callers: [...ofCallers].map(([name, own]) => ({ name, grants: formatGrants(own).join('\n') })),
    /** Those that policies are about. */
    namespaces: listNamespaces(set.documents),
    forTables: isTable ? [] : listTableRules(set, id).map(formatTableRule),
  }
}

function formatTableRule(one: ReturnType<typeof listTableRules>[number]): string {
  const about = `${one.tables.join(', ')}: ${formatRule(one.rule)}`
  return one.columns === undefined ? about : `${about}: ${formatPart(one.columns, one.rows)}`
}
