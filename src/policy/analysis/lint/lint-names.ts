import { groupBy } from '../../../lib/group-by.ts'
import { suggestSimilar } from '../../../lib/suggest-similar.ts'
import { describeRegularExpression } from '../../conditions/name-pattern.ts'
import type { LocatedRule } from '../../engine/compiled-rule.ts'
import { namespaceKey } from '../../engine/object-position.ts'
import type { PolicyDocument, PolicyRule } from '../../language/policy-document.ts'
import type { PolicySet } from '../../policy-set.ts'
import { parseFilter } from '../../restrictions/parse-filter.ts'
import { listTags } from '../../tags/object-tags.ts'
import { warn, type Remark, type RuleOrDocument } from './finding.ts'
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
 * Finds names that are probably misspelt, or match nothing that the policies declare: users and groups that no credential
 * has, tables and tags beside declared ones, columns in `rows`, patterns that are regular expressions, and look-alikes.
 */
export function createNameCheck(
  { set, rules }: RuleIndex,
  known: KnownCredentials | undefined,
): (about: RuleOrDocument) => readonly Remark[] {
  const findLookAlike = createLookAlikeFinder([...set.documents.map((document) => ({ document })), ...rules])
  const askedTags = new Set(rules.flatMap(({ rule }) => listAskedTags(rule)))
  return (about) => {
    const { document, rule } = about
    const lookAlikes = warn('name', findLookAlike(about))
    if (rule === undefined) return [...lookAlikes, ...describeTags(document, askedTags)]
    const own = { document, rule }
    const patterns = (rule.tables ?? []).flatMap((pattern) => describeRegularExpression(pattern) ?? [])
    return [
      ...lookAlikes,
      ...findUndeclared(own, set),
      ...warn(
        'pattern',
        patterns.map((problem) => `names tables by a pattern: ${problem}`),
      ),
      ...warn('effect', describeColumns(own, set)),
      ...warn('subject', describeSubjects(own, known)),
    ]
  }
}

function describeTags({ tags }: PolicyDocument, asked: ReadonlySet<string>): readonly Remark[] {
  const unused = [...listTags([tags]).all].filter((tag) => !asked.has(tag))
  return unused.length === 0
    ? []
    : [['info', 'name', `declares tags that no rule asks for: ${unused.join(', ')}`]]
}

function listAskedTags({ condition, restriction }: PolicyRule): readonly string[] {
  const { columns } = restriction ?? {}
  return [...(condition?.tags ?? []), ...(columns && 'without' in columns ? columns.without : [])]
}

/** Finds tables beside declared ones. A deny of a look-alike is refused before, as the table would stay open. */
function findUndeclared({ document: { namespace }, rule }: LocatedRule, set: PolicySet): readonly Remark[] {
  const declared = set.listTaggedTables(namespace)
  const tables = declared.length === 0 ? [] : (rule.tables ?? [])
  // A restriction declares its columns itself.
  const isTaking = rule.effect === 'deny' && rule.restriction === undefined
  return tables.flatMap((table): readonly Remark[] => {
    const suggestion = suggestSimilar(table, declared, 2)
    if (table.includes('*') || declared.includes(table) || (!isTaking && suggestion === '')) return []
    const level = suggestion === '' ? 'info' : 'warning'
    return [[level, 'name', `names the table "${table}", which "tags.tables" does not declare${suggestion}`]]
  })
}

interface Mention {
  readonly kind: 'group' | 'namespace' | 'table'
  /** What must be equal for two names to be compared, such as the namespace of a table. */
  readonly scope: string
  readonly name: string
}

function listMentions({ document: { namespace }, rule }: RuleOrDocument): readonly Mention[] {
  if (rule === undefined)
    return namespace.map((name, depth) => {
      return { kind: 'namespace', scope: namespaceKey(namespace.slice(0, depth)), name }
    })
  return [
    ...listNames(rule, 'groups').map((name) => ({ kind: 'group', scope: '', name }) as const),
    ...(rule.tables ?? []).map((name) => ({ kind: 'table', scope: namespaceKey(namespace), name }) as const),
  ]
}

/**
 * Returns a function that describes names that are mentioned once, and are almost others: they differ in case, or by a letter
 * in a word of at least five. Of two that are mentioned once, it describes the second. Its time is linear.
 */
function createLookAlikeFinder(all: readonly RuleOrDocument[]): (about: RuleOrDocument) => readonly string[] {
  const byName = groupBy(all.flatMap(listMentions), ({ kind, scope, name }) => [kind, scope, name].join('\0'))
  const distinct = [...byName.values()].flatMap(([mention, ...more], at) =>
    mention === undefined ? [] : [{ mention, rank: more.length > 0 ? -1 : at }],
  )
  const alike = groupBy(
    distinct.flatMap((one) => listVariants(one.mention).map((variant) => ({ ...one, variant }))),
    ({ variant }) => variant,
  )
  return (about) =>
    listMentions(about).flatMap((own) => {
      const others = listVariants(own).flatMap((variant) => alike.get(variant) ?? [])
      const rank = others.find(({ mention }) => mention.name === own.name)?.rank ?? -1
      const other = others.find((one) => one.rank < rank)
      if (other === undefined) return []
      const { kind, name } = own
      return [
        `names the ${kind} "${name}", which is almost "${other.mention.name}"; one of them may be misspelt`,
      ]
    })
}

/** Texts of which two names have one in common if they are almost equal. */
function listVariants({ kind, scope, name }: Mention): readonly string[] {
  const lower = name.toLowerCase()
  const words = [...lower.matchAll(/\p{L}{5,}/gu)]
  const shortened = words.flatMap(({ 0: word, index }) =>
    Array.from(word, (_, at) => lower.slice(0, index + at) + lower.slice(index + at + 1)),
  )
  return [...new Set([lower, ...shortened])].map((text) => [kind, scope, text].join('\0'))
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
