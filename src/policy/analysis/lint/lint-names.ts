import { suggestSimilar } from '../../../lib/suggest-similar.ts'
import { describeRegularExpression } from '../../conditions/name-pattern.ts'
import type { LocatedRule } from '../../engine/compiled-rule.ts'
import type { PolicyRule } from '../../language/policy-document.ts'
import type { PolicySet } from '../../policy-set.ts'
import { parseFilter } from '../../restrictions/parse-filter.ts'
import { warn, type Remark } from './finding.ts'
import type { RuleIndex } from './rule-index.ts'

/** The names that the settings of a gateway give to callers. */
export interface KnownCredentials {
  /** Names of token issuers and other sources, which prefix their principals and groups. */
  readonly issuers: readonly string[]
  /** Principals and groups of API keys. */
  readonly principals: ReadonlySet<string>
  readonly groups: ReadonlySet<string>
}

/**
 * Finds names that are probably misspelt: users and groups that no credential has, patterns of tables that are regular
 * expressions, and columns in `rows`.
 */
export function createNameCheck(
  { set }: RuleIndex,
  known: KnownCredentials | undefined,
): (own: LocatedRule) => readonly Remark[] {
  return (own) => {
    const { tables = [] } = own.rule
    const patterns = tables.flatMap((pattern) => describeRegularExpression(pattern) ?? [])
    return [
      ...warn(
        'pattern',
        patterns.map((problem) => `names tables by a pattern: ${problem}`),
      ),
      ...warn('effect', describeColumns(own, set)),
      ...warn('subject', describeSubjects(own, known)),
    ]
  }
}

/** Returns the users or groups that a rule names, also in its exceptions. */
export function listNames({ subjects }: PolicyRule, kind: 'users' | 'groups'): readonly string[] {
  return [...new Set([...subjects[kind], ...(subjects.except?.[kind] ?? [])])]
}

/** Returns `; did you mean "corp:sales"?` if a group has the name behind a prefix, or a similar name, else an empty string. */
export function suggestGroup(name: string, groups: readonly string[]): string {
  const prefixed = groups.find((group) => group.endsWith(`:${name}`))
  return prefixed === undefined ? suggestSimilar(name, groups) : `; did you mean "${prefixed}"?`
}

function describeSubjects({ rule }: LocatedRule, known: KnownCredentials | undefined): readonly string[] {
  if (known === undefined) return []
  const { issuers, principals, groups } = known
  const [issuer] = issuers
  /** A name of a token has the prefix of its issuer; any other is one of an API key. */
  const describe = (kind: string, ofKeys: ReadonlySet<string>) => (name: string) => {
    const [prefix = '', ...rest] = name.split(':')
    if (issuers.some((one) => name.startsWith(`${one}:`)) || ofKeys.has(name)) return []
    if (rest.length > 0)
      return `names the ${kind} "${name}", but no API key has it, and "${prefix}" is no issuer${suggestSimilar(prefix, issuers)}`
    const suggestion =
      issuer && `; with a token, it has the prefix of its issuer: did you mean "${issuer}:${name}"?`
    return `names the ${kind} "${name}", which no API key has${suggestion ?? ''}`
  }
  return [
    ...listNames(rule, 'groups').flatMap(describe('group', groups)),
    ...listNames(rule, 'users').flatMap(describe('user', principals)),
  ]
}

/** Describes columns in `rows` whose name is probably a misspelt one: the catalog refuses each read of the table. */
function describeColumns({ document: { namespace }, rule }: LocatedRule, set: PolicySet): readonly string[] {
  const { restriction, tables = [] } = rule
  if (restriction?.rowsText === undefined || 'without' in restriction.columns) return []
  const { columns, rowsText } = restriction
  const declared = new Set(tables.flatMap((table) => [...set.findTags({ namespace, table }).columns.keys()]))
  const messages = new Set<string>()
  parseFilter(rowsText, {
    findColumn(path) {
      const name = path.join('.')
      const type = columns.get(name)
      const suggestion = type || declared.has(name) ? '' : suggestSimilar(name, columns.keys())
      if (suggestion !== '')
        messages.add(`has "rows" on the column "${name}", which is none of its columns${suggestion}`)
      return type ?? 'unknown'
    },
    hasVariables: true,
  })
  return [...messages]
}
