import { describeRegularExpression } from '../../conditions/name-pattern.ts'
import { namespaceKey } from '../reaching-rules.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'
import type { DecisionTest } from '../../testing/decision-test.ts'
import { createFinding, type Finding } from './finding.ts'

/** Finds regular expressions among patterns of tables, and policies whose namespace is a table. */
export function lintTables(
  documents: readonly PolicyDocument[],
  tests: readonly DecisionTest[],
): readonly Finding[] {
  return [...documents.flatMap(findRegularExpressions), ...findTablesAsNamespaces(documents, tests)]
}

function findRegularExpressions(document: PolicyDocument): readonly Finding[] {
  return document.rules.flatMap((rule) =>
    (rule.tables ?? []).flatMap((pattern) => {
      const problem = describeRegularExpression(pattern)
      return problem === undefined
        ? []
        : [createFinding(document, rule, 'warning', 'pattern', `names tables by a pattern: ${problem}`)]
    }),
  )
}

interface TableUse {
  readonly file: string
  readonly line: number
}

function findTablesAsNamespaces(
  documents: readonly PolicyDocument[],
  tests: readonly DecisionTest[],
): readonly Finding[] {
  const tables = new Map<string, TableUse>()
  for (const { namespace, rules, file } of documents)
    for (const { tables: names = [], line } of rules)
      for (const name of names)
        if (!name.includes('*')) tables.set(namespaceKey([...namespace, name]), { file, line })
  for (const { requests, file, line } of tests)
    for (const { kind, id } of requests) if (kind === 'table') tables.set(namespaceKey(id), { file, line })
  return documents.flatMap((document) => {
    const { name, namespace, file, line, column } = document
    const use = tables.get(namespaceKey(namespace))
    const table = namespace.at(-1)
    if (use === undefined || table === undefined) return []
    const message =
      `the namespace of ${name} is ${JSON.stringify(namespace)}, which ${use.file}:${use.line} names as a table; ` +
      `a policy of a table has the namespace ${JSON.stringify(namespace.slice(0, -1))} and rules with "tables: [${table}]"`
    return [{ level: 'warning', check: 'namespace', file, line, column, policy: name, message }]
  })
}
