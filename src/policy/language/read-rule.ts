import { CatalogError } from '../../catalog-api/catalog-error.ts'
import { describeJoinedName, formatNameList, splitNames } from '../../catalog-api/identifier-text.ts'
import { assertName, type Identifier } from '../../catalog-api/identifiers.ts'
import { isInNamespace } from '../../catalog-api/object-kinds.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { Position } from './yaml/read-yaml.ts'
import { isConditionError, type Condition } from '../conditions/condition.ts'
import { describeRegularExpression } from '../conditions/name-pattern.ts'
import { nothingImplied } from './deny-coverage.ts'
import { rejectPlaceholder } from './placeholder.ts'
import { ruleFields } from './policy-fields.ts'
import type { PolicyRule } from './policy-document.ts'
import { objectKindOfPermission } from '../engine/object-position.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'
import { compileCached, readCondition } from './read-condition.ts'
import { everyone, readSubjects } from './read-subjects.ts'
import { readTime } from './read-values.ts'
import { suggestSimilar } from '../../lib/suggest-similar.ts'
import {
  anyText,
  createChoiceReader,
  createFieldsReader,
  readLine,
  readOptional,
  readNonEmptyTexts,
  readText,
  readTexts,
  watchProblems,
  type ValidateText,
  type Field,
  type ReportProblem,
} from './field.ts'

const readRuleFields = createFieldsReader(ruleFields)
const readEffect = createChoiceReader(['allow', 'deny'])

const maxLabelLength = 128
const labelGrammar = new RegExp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,${maxLabelLength - 1}}$`)

/** Reads a rule. Reports all errors; returns undefined if the effect is invalid. */
export function readRule(
  field: Field,
  position: Position,
  report: ReportProblem,
  vocabulary: PolicyVocabulary,
): PolicyRule | undefined {
  const fields = readRuleFields(field, report)
  if (fields === undefined) return undefined
  const id = readRuleId(fields.get('id'), position, report)
  const effect = readEffect(fields.get('effect'), report)
  const ofSubjects = watchProblems(report)
  const subjects = readSubjects(fields.get('subjects'), ofSubjects.report)
  const ofOperations = watchProblems(report)
  const named = readPermissions(fields.get('operations'), ofOperations.report, vocabulary, effect)
  const tables = readOptional(fields, 'tables', (item) => readTables(item, report, vocabulary), report)
  if (tables !== undefined && named.size > 0 && ![...named].some(isTablePermission)) {
    report(
      fields.get('tables').offset,
      `${fields.get('tables').name} has no effect: none of the operations applies to a table`,
    )
  }
  const until = readOptional(fields, 'until', (item) => readEnd(item, effect, report), report)
  const condition = limitCondition(readOptional(fields, 'when', readCondition, report), until, (message) =>
    report(fields.get('until').offset, `${fields.get('until').name}: ${message}`),
  )
  const message = readOptional(fields, 'message', readLine, report)
  if (message !== undefined && effect === 'allow' && !fields.has('when') && !fields.has('until')) {
    const { name, offset } = fields.get('message')
    report(offset, `${name} has no effect: an allow without "when" and "until" refuses nobody`)
  }
  if (effect === undefined) return undefined
  const rest = {
    tables,
    condition,
    ...(until !== undefined && { until }),
    ...(message !== undefined && { message }),
    ...position,
  }
  if (effect === 'allow')
    return { id, effect, subjects, permissions: named, implied: nothingImplied, ...rest }
  // What cannot be read of a deny counts as all, so that an error does not lift it.
  const denied = ofOperations.hasProblems() ? vocabulary.expand(['all'], 'deny') : named
  // Another name, or another namespace, has other tags.
  const includesMoves = tables !== undefined || (condition !== undefined && condition.tags.length > 0)
  const coverage = vocabulary.coverDeny(denied, { includesMoves })
  return { id, effect, subjects: ofSubjects.hasProblems() ? everyone : subjects, ...coverage, ...rest }
}

/** Reads the end of an allow rule, in UTC. */
function readEnd(
  field: Field,
  effect: 'allow' | 'deny' | undefined,
  report: ReportProblem,
): string | undefined {
  if (effect === 'deny') {
    const hint = 'a deny may have "when: now < timestamp(…)"'
    report(field.offset, `${field.name} is allowed only with effect: allow; ${hint}`)
    return undefined
  }
  const until = readTime(field, report)
  return until === undefined ? undefined : new Date(until).toISOString().replace('.000Z', 'Z')
}

/**
 * Adds the end of a rule to its condition, as one more conjunct. So all that depends on the time treats it as it treats
 * `now` in conditions: nothing is cached past it, and changes are decided again at the end of their body.
 */
function limitCondition(
  condition: Condition | undefined,
  until: string | undefined,
  report: (message: string) => void,
): Condition | undefined {
  if (until === undefined) return condition
  const end = `now < timestamp("${until}")`
  // A line break, because the condition may end with a comment.
  const limited = compileCached(condition === undefined ? end : `${end} && (${condition.text}\n)`)
  if (!isConditionError(limited)) return limited
  report(`with "when", the condition ${limited.message}`)
  return undefined
}

/** Reads the id of a rule. Instead of an invalid one, returns one with the position: without an id, a deny would be lifted. */
export function readRuleId(field: Field, { line, column }: Position, report: ReportProblem): string {
  return readLabel(field, report) ?? `unnamed-${line}-${column}`
}

/** Reads the name of a policy or the id of a rule, restricted to characters that are safe in log lines. */
export function readLabel(field: Field, report: ReportProblem): string | undefined {
  const label = readText(field, report)
  if (label === undefined || labelGrammar.test(label)) return label
  report(
    field.offset,
    `${field.name} is ${JSON.stringify(label)}; expected 1 to ${maxLabelLength} letters, digits or any of . _ -`,
  )
  return undefined
}

/** Reads a namespace. An invalid name is an error, because the policy would never apply. */
export function readNamespace(field: Field, report: ReportProblem, vocabulary: PolicyVocabulary): Identifier {
  return readIdentifier(field, report, vocabulary, (part) =>
    part.includes('*') ? (item) => `${item} contains "*"; ${exactNamespaces}` : rejectPlaceholder(part),
  )
}

const exactNamespaces =
  "namespaces must be named exactly; for several, list their names: forEach: { team: [crm, billing] } with namespace: ['{team}']"

/** Reads an id as a list of names. Reports names that no object has. */
export function readIdentifier(
  field: Field,
  report: ReportProblem,
  { options: { separators } }: PolicyVocabulary,
  validate: ValidateText = anyText,
): Identifier {
  const expected = (): string =>
    formatNameList(listTexts(field).flatMap((text) => splitNames(text, ['/', ...separators])))
  return readTexts(
    field,
    '[prod, sales]',
    report,
    (part) => validate(part) ?? rejectSeparators(part, separators, expected) ?? validateName(part),
  )
}

function listTexts({ node }: Field): readonly string[] {
  const items = node?.kind === 'list' ? node.items : []
  return items.flatMap((item) =>
    item.kind === 'scalar' && typeof item.value === 'string' ? [item.value] : [],
  )
}

export function readPermissions(
  field: Field,
  report: ReportProblem,
  vocabulary: PolicyVocabulary,
  effect: 'allow' | 'deny' = 'allow',
): ReadonlySet<Permission> {
  const validate = (name: string): ReturnType<ValidateText> => validatePermission(name, vocabulary)
  return vocabulary.expand(readNonEmptyTexts(field, '[read, InsertIntoTable]', report, validate), effect)
}

function validatePermission(name: string, vocabulary: PolicyVocabulary): ReturnType<ValidateText> {
  if (vocabulary.has(name)) return undefined
  const { names, groups } = vocabulary.permissions
  const suggestion = suggestSimilar(name, [...names, ...groups.keys()])
  return (item) => `${item}: unknown operation or group ${JSON.stringify(name)}${suggestion}`
}

function isTablePermission(permission: Permission): boolean {
  return permission === 'ReadAnyTable' || isInNamespace(objectKindOfPermission(permission))
}

/** Reads patterns of names; all tables if one cannot be read, as a deny must not lose those that it covers. */
export function readTables(
  field: Field,
  report: ReportProblem,
  vocabulary: PolicyVocabulary,
): readonly string[] {
  const watched = watchProblems(report)
  const tables = readNonEmptyTexts(field, '[orders, "evt_*"]', watched.report, (pattern) =>
    pattern.includes('**')
      ? (item) => `${item} contains "**"; omit "tables" for everything beneath the namespace`
      : (rejectAnchors(pattern) ?? validateTableName(pattern, vocabulary)),
  )
  return watched.hasProblems() ? ['*'] : tables
}

/** Validates the name of a table in the namespace of the policy, or a pattern of names. */
export function validateTableName(
  pattern: string,
  { options: { separators } }: PolicyVocabulary,
): ReturnType<ValidateText> {
  return rejectSeparators(pattern, separators, () => oneName) ?? validateName(pattern.replaceAll('*', 'x'))
}

/** Names may contain most characters of regular expressions, which `policy lint` reports; "^…$" is never a name. */
function rejectAnchors(pattern: string): ReturnType<ValidateText> {
  const problem = /^\^.*\$$/.test(pattern) ? describeRegularExpression(pattern) : undefined
  return problem === undefined ? undefined : (item) => `${item}: ${problem}`
}

const oneName = 'the name alone: the namespace is that of the policy'

/** Rejects a text with a separator; `expected` is what the message expects instead. */
function rejectSeparators(
  name: string,
  separators: readonly string[],
  expected: () => string,
): ReturnType<ValidateText> {
  const message = describeJoinedName(name, separators, expected)
  return message === undefined ? undefined : (item) => `${item}: ${message}`
}

/** Rejects names that no object can have: the rule or policy would silently never apply. */
function validateName(name: string): ReturnType<ValidateText> {
  const message = (item: string): string | undefined => {
    try {
      assertName(name, item)
      return undefined
    } catch (error) {
      if (!(error instanceof CatalogError)) throw error
      return error.message
    }
  }
  return message('') === undefined ? undefined : (item) => message(item) ?? ''
}
