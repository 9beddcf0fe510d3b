import { namespaceKey } from '../reaching-rules.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'
import { createFinding, type Finding } from './finding.ts'

/** Finds ids with dots in place of lists and names, such as `prod.sales`: they are valid names, but of other objects. */
export function lintDottedIds(documents: readonly PolicyDocument[]): readonly Finding[] {
  const first = new Map<string, PolicyDocument>()
  for (const document of documents) {
    const key = namespaceKey(document.namespace)
    if (!first.has(key)) first.set(key, document)
  }
  return documents.flatMap((document) => [
    ...findDottedNamespace(document, first),
    ...findDottedTables(document),
  ])
}

function findDottedNamespace(
  { name, namespace, file, line, column }: PolicyDocument,
  first: ReadonlyMap<string, PolicyDocument>,
): readonly Finding[] {
  const meant = namespace.flatMap((part) => part.split('.'))
  const other = meant.length === namespace.length ? undefined : first.get(namespaceKey(meant))
  if (other === undefined) return []
  const message =
    `the namespace of ${name} is ${JSON.stringify(namespace)}, in which a dot does not separate names; ` +
    `did you mean ${JSON.stringify(meant)} (${other.file}:${other.line})?`
  return [{ level: 'warning', check: 'namespace', file, line, column, policy: name, message }]
}

function findDottedTables(document: PolicyDocument): readonly Finding[] {
  const prefixes = document.namespace.map((_, depth) => `${document.namespace.slice(depth).join('.')}.`)
  return document.rules.flatMap((rule) =>
    (rule.tables ?? []).flatMap((table) => {
      const prefix = prefixes.find((one) => table.startsWith(one))
      if (prefix === undefined) return []
      const message =
        `names the table ${JSON.stringify(table)}; the namespace is that of the policy: ` +
        `did you mean ${JSON.stringify(table.slice(prefix.length))}?`
      return [createFinding(document, rule, 'warning', 'namespace', message)]
    }),
  )
}
