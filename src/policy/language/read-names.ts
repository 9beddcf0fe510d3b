import { CatalogError } from '../../catalog-api/catalog-error.ts'
import { describeJoinedName, formatNameList, splitNames } from '../../catalog-api/identifier-text.ts'
import { assertName, type Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { suggestSimilar } from '../../lib/suggest-similar.ts'
import { describeRegularExpression } from '../conditions/name-pattern.ts'
import type { Lenient, Place } from './place.ts'
import { describePlaceholder } from './policy-instance.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'

/** A list as written; undefined if it is missing or none. */
type Texts = Lenient<readonly string[]> | undefined

/** Returns what continues the name of the place to say why the text is invalid; undefined if it is valid. */
export type DescribeText = (text: string) => string | undefined

/** Returns the texts of a list, and reports those that are invalid. */
export function readTexts(place: Place, texts: Texts = [], describe: DescribeText): readonly string[] {
  for (const [index, text] of texts.entries()) {
    const problem = text === undefined ? undefined : describe(text)
    if (problem !== undefined) place.at(index).report(problem)
  }
  return texts.filter((text) => text !== undefined)
}

/** Reads a namespace. An invalid name is an error, because the policy would never apply. */
export function readNamespace(place: Place, names: Texts, vocabulary: PolicyVocabulary): Identifier {
  return readIdentifier(place, names, vocabulary, (name) =>
    name.includes('*') ? ` contains "*"; ${exactNamespaces}` : describePlaceholder(name),
  )
}

const exactNamespaces =
  "namespaces must be named exactly; for several, list their names: forEach: { team: [crm, billing] } with namespace: ['{team}']"

/** Reads an id as a list of names. Reports names that no object has. */
export function readIdentifier(
  place: Place,
  names: Texts = [],
  { options: { separators } }: PolicyVocabulary,
  describe: DescribeText = () => undefined,
): Identifier {
  const expected = (): string =>
    formatNameList(names.flatMap((text = '') => splitNames(text, ['/', ...separators])))
  return readTexts(
    place,
    names,
    (name) => describe(name) ?? describeSeparators(name, separators, expected) ?? describeInvalidName(name),
  )
}

/** Reads operations and groups of them. */
export function readPermissions(
  place: Place,
  names: Texts,
  vocabulary: PolicyVocabulary,
  effect: 'allow' | 'deny' = 'allow',
): ReadonlySet<Permission> {
  const describe: DescribeText = (name) => {
    if (vocabulary.has(name)) return undefined
    const { names, groups } = vocabulary.permissions
    const suggestion =
      suggestSimilar(name, [...names, ...groups.keys()]) ||
      `; expected operations such as InsertIntoTable, or the groups ${[...groups.keys()].join(', ')}`
    return `: unknown operation or group ${JSON.stringify(name)}${suggestion}`
  }
  return vocabulary.expand(readTexts(place, names, describe), effect)
}

/** Reads patterns of names; all tables if one cannot be read, as a deny must not lose those that it covers. */
export function readTables(place: Place, patterns: Texts, vocabulary: PolicyVocabulary): readonly string[] {
  const tables = readTexts(place, patterns, (pattern) =>
    pattern.includes('**')
      ? ' contains "**"; omit "tables" for everything beneath the namespace'
      : (describeAnchors(pattern) ?? describeTableName(pattern, vocabulary)),
  )
  return place.isFaulty ? ['*'] : tables
}

/** Describes why a text is neither the name of a table in the namespace of the policy nor a pattern of names. */
export function describeTableName(
  pattern: string,
  { options: { separators } }: PolicyVocabulary,
): string | undefined {
  return (
    describeSeparators(pattern, separators, () => oneName) ??
    describeInvalidName(pattern.replaceAll('*', 'x'))
  )
}

const oneName = 'the name alone: the namespace is that of the policy'

/** Names may contain most characters of regular expressions, which `policy lint` reports; "^…$" is never a name. */
function describeAnchors(pattern: string): string | undefined {
  const problem = /^\^.*\$$/.test(pattern) ? describeRegularExpression(pattern) : undefined
  return problem === undefined ? undefined : `: ${problem}`
}

function describeSeparators(
  name: string,
  separators: readonly string[],
  expected: () => string,
): string | undefined {
  const message = describeJoinedName(name, separators, expected)
  return message === undefined ? undefined : `: ${message}`
}

/** Describes a name that no object can have: the rule or policy would silently never apply. */
function describeInvalidName(name: string): string | undefined {
  try {
    assertName(name, '')
    return undefined
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    return error.message
  }
}
