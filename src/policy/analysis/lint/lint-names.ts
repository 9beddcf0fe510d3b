import { groupBy, suggestSimilar } from '../../../lib/index.ts'
import { describeRegularExpression } from '../../conditions/name-pattern.ts'
import type { LocatedRule } from '../../engine/compiled-rule.ts'
import { namespaceKey } from '../../engine/object-position.ts'
import type { PolicyRule } from '../../language/policy-document.ts'
import type { PolicySet } from '../../policy-set.ts'
import { listRowColumns } from '../../restrictions/restriction.ts'
import { listTags, type DeclaredTags } from '../../tags/object-tags.ts'
import { type Check, note, type RuleIndex, type RuleOrDocument, warn } from './check.ts'

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
 * has, tables beside declared ones, columns in `rows`, patterns that are regular expressions, and look-alikes.
 */
export function createNameCheck(
  { set, rules }: RuleIndex,
  known: KnownCredentials | undefined,
): Check<RuleOrDocument> {
  // Of two names that are alike, the one in a deny is described: it may leave data open.
  const allowsFirst = rules.toSorted(
    (one, other) => Number(one.rule.effect === 'deny') - Number(other.rule.effect === 'deny'),
  )
  const documents = set.documents.map((document) => ({ document }))
  const findLookAlike = createLookAlikeFinder([...documents, ...allowsFirst])
  const namedTags = new Set(rules.flatMap(({ rule }) => listNamedTags(rule)))
  return (about) => {
    const { document, rule } = about
    // A misspelt deny leaves data open. Of many names of teams and customers, some are alike.
    const remark = rule?.effect === 'deny' ? warn : note
    const lookAlikes = remark('name', ...findLookAlike(about))
    if (rule === undefined)
      return [...lookAlikes, ...warn('name', ...describeUnusedTags(document.tags, namedTags))]
    const own = { document, rule }
    const patterns = (rule.tables ?? []).flatMap((pattern) => describeRegularExpression(pattern) ?? [])
    return [
      ...lookAlikes,
      ...note('name', ...describeUndeclared(own, set)),
      ...warn('pattern', ...patterns.map((problem) => `names tables by a pattern: ${problem}`)),
      ...warn('effect', ...describeColumns(own, set)),
      ...warn('subject', ...describeSubjects(own, known)),
    ]
  }
}

function listNamedTags({ condition, restriction }: PolicyRule): readonly string[] {
  const without = restriction && 'without' in restriction.columns ? restriction.columns.without : []
  return [...(condition?.tags ?? []), ...without]
}

/** Describes tags that no rule names, but almost: no rule applies to their objects. */
function describeUnusedTags(tags: DeclaredTags | undefined, named: ReadonlySet<string>): readonly string[] {
  const unused = [...listTags([tags]).all].filter((tag) => !named.has(tag))
  return unused.flatMap((tag) => {
    const suggestion = suggestSimilar(tag, named, Math.max(1, Math.floor(tag.length / 3)))
    return suggestion === '' ? [] : [`declares the tag "${tag}", which no rule names${suggestion}`]
  })
}

/** A restriction declares its columns itself. */
function describeUndeclared(
  { document: { namespace }, rule }: LocatedRule,
  set: PolicySet,
): readonly string[] {
  const declared = set.listTaggedTables(namespace)
  if (declared.length === 0 || rule.effect === 'allow' || rule.restriction !== undefined) return []
  const others = (rule.tables ?? []).filter((table) => !table.includes('*') && !declared.includes(table))
  if (others.length === 0) return []
  return [`denies tables that "tags.tables" does not declare: ${others.join(', ')}`]
}

/** The kind of each name, its scope (two names are compared in equal scopes: the namespace of a table), and the name. */
function listMentions({ document: { namespace, tags }, rule }: RuleOrDocument): readonly string[] {
  const tables = rule === undefined ? tags?.tables.keys() : rule.tables
  const groups = rule === undefined ? [] : listNames(rule, 'groups')
  const path = rule === undefined ? namespace : []
  return [
    ...path.map((name, at) => ['namespace', namespaceKey(namespace.slice(0, at)), name]),
    ...groups.map((name) => ['group', '', name]),
    ...[...(tables ?? [])].map((name) => ['table', namespaceKey(namespace), name]),
  ].map((mention) => mention.join('\0'))
}

/**
 * Returns a function that describes names that are mentioned once, and are almost others: they differ in case, or by a letter
 * in a word of at least five. Of two that are mentioned once, it describes the second. Its time is linear.
 */
function createLookAlikeFinder(all: readonly RuleOrDocument[]): (about: RuleOrDocument) => readonly string[] {
  const mentions = groupBy(all.flatMap(listMentions), (mention) => mention)
  const isSingle = (mention: string): boolean => mentions.get(mention)?.length === 1
  const names = [...mentions.keys()].toSorted((one, other) => Number(isSingle(one)) - Number(isSingle(other)))
  const firsts = new Map(
    names.toReversed().flatMap((name) => listVariants(name).map((text) => [text, name] as const)),
  )
  return (about) =>
    listMentions(about)
      .filter(isSingle)
      .flatMap((own) => {
        const other = listVariants(own).flatMap((text) => firsts.get(text) ?? [])
        const [kind, , name] = own.split('\0')
        const meant = other.find((one) => one !== own)?.split('\0')[2]
        if (meant === undefined) return []
        return `names the ${kind} "${name}", which is almost "${meant}"; one of them may be misspelt`
      })
}

/** Texts of a mention. Two mentions have one in common if their names are almost equal. */
function listVariants(mention: string): readonly string[] {
  const start = mention.lastIndexOf('\0') + 1
  const [scope, lower] = [mention.slice(0, start), mention.slice(start).toLowerCase()]
  const shortened = [...lower.matchAll(/\p{L}{5,}/gu)].flatMap(({ 0: word, index }) =>
    Array.from(word, (_, at) => lower.slice(0, index + at) + lower.slice(index + at + 1)),
  )
  return [lower, ...shortened].map((text) => scope + text)
}

/** Also in its exceptions. */
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
  return (['group', 'user'] as const).flatMap((kind) =>
    listNames(rule, `${kind}s`).flatMap((name) => describeUnknownName(kind, name, known) ?? []),
  )
}

/**
 * Describes a name that no credential has; undefined if one may have it. A name of a token has the prefix of its issuer; any
 * other is one of an API key.
 */
function describeUnknownName(
  kind: 'user' | 'group',
  name: string,
  { issuers, principals, groups }: KnownCredentials,
): string | undefined {
  const ofKeys = kind === 'user' ? principals : groups
  if (issuers.some((one) => name.startsWith(`${one}:`)) || ofKeys.has(name)) return undefined
  const [prefix = '', ...rest] = name.split(':')
  const [issuer] = issuers
  const meant = issuer && `; with a token, it has the prefix of its issuer: did you mean "${issuer}:${name}"?`
  const problem =
    rest.length > 0
      ? `but no API key has it, and "${prefix}" is no issuer${suggestSimilar(prefix, issuers)}`
      : `which no API key has${meant ?? ''}`
  return `names the ${kind} "${name}", ${problem}`
}

/** Describes columns in `rows` whose name is probably a misspelt one: the catalog refuses each read of the table. */
function describeColumns({ document: { namespace }, rule }: LocatedRule, set: PolicySet): readonly string[] {
  const { restriction, tables = [] } = rule
  if (restriction?.rows === undefined || 'without' in restriction.columns) return []
  const { columns, rows } = restriction
  const declared = new Set(tables.flatMap((table) => [...set.findTags({ namespace, table }).columns.keys()]))
  return [...listRowColumns(rows)].flatMap((name) => {
    const suggestion = columns.has(name) || declared.has(name) ? '' : suggestSimilar(name, columns.keys())
    return suggestion === ''
      ? []
      : [`has "rows" on the column "${name}", which is none of its columns${suggestion}`]
  })
}
