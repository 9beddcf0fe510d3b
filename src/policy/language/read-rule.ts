import { LRUCache } from 'lru-cache'
import type { z } from 'zod'
import { isInNamespace } from '../../catalog-api/requirements.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { parseTimestamp } from '../../lib/time.ts'
import {
  allowOnlyFolders,
  requireMetadataKeys,
  type CommitRequirement,
} from '../conditions/commit-requirements.ts'
import type { ConditionError } from '../conditions/condition-errors.ts'
import { compileCondition, isConditionError, type Condition } from '../conditions/condition.ts'
import { validateFolder } from '../conditions/storage-path.ts'
import { objectKindOfPermission } from '../engine/object-position.ts'
import { nothingImplied } from './deny-coverage.ts'
import type { Lenient, Place } from './place.ts'
import type { NamedSubjects, PolicyRule, Subjects } from './policy-document.ts'
import { describePlaceholder } from './policy-instance.ts'
import type { commitsSchema, namedSubjectsSchema, ruleSchema, subjectsSchema } from './policy-schema.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'
import { readPermissions, readTables, readTexts } from './read-names.ts'

/** Reads a rule. Reports all errors; returns undefined if the effect is invalid. */
export function readRule(
  place: Place,
  rule: Lenient<z.output<typeof ruleSchema>>,
  vocabulary: PolicyVocabulary,
): PolicyRule | undefined {
  const { effect, message } = rule
  const subjects = readSubjects(place.at('subjects'), rule.subjects)
  const named = readPermissions(place.at('operations'), rule.operations, vocabulary, effect)
  const tables = 'tables' in rule ? readTables(place.at('tables'), rule.tables, vocabulary) : undefined
  if (tables !== undefined && named.size > 0 && ![...named].some(isTablePermission))
    place.at('tables').report(' has no effect: none of the operations applies to a table')
  const until = readEnd(place.at('until'), rule.until, effect)
  const own = rule.when === undefined ? undefined : readCondition(place.at('when'), rule.when)
  const condition = limitCondition(place.at('until'), own, until)
  if (message !== undefined && effect === 'allow' && !('when' in rule) && !('until' in rule))
    place.at('message').report(' has no effect: an allow without "when" and "until" refuses nobody')
  if (effect === undefined) return undefined
  const rest = {
    tables,
    condition,
    ...(until !== undefined && { until }),
    ...(message !== undefined && { message }),
    ...place.position,
  }
  const id = rule.id ?? nameUnnamed(place)
  if (effect === 'allow')
    return { id, effect, subjects, permissions: named, implied: nothingImplied, ...rest }
  // What cannot be read of a deny counts as all, so that an error does not lift it.
  const denied = place.at('operations').isFaulty ? vocabulary.expand(['all'], 'deny') : named
  // Another name, or another namespace, has other tags.
  const includesMoves = tables !== undefined || (condition !== undefined && condition.tags.length > 0)
  const coverage = vocabulary.coverDeny(denied, { includesMoves })
  return { id, effect, subjects: place.at('subjects').isFaulty ? everyone : subjects, ...coverage, ...rest }
}

/** Without an id, a deny would be lifted. */
export function nameUnnamed({ position: { line, column } }: Place): string {
  return `unnamed-${line}-${column}`
}

function isTablePermission(permission: Permission): boolean {
  return permission === 'ReadAnyTable' || isInNamespace(objectKindOfPermission(permission))
}

/** Reads the end of an allow rule, in UTC. */
function readEnd(
  place: Place,
  until: string | undefined,
  effect: 'allow' | 'deny' | undefined,
): string | undefined {
  if (until === undefined) return undefined
  if (effect === 'deny') {
    place.report(' is allowed only with effect: allow; a deny may have "when: now < timestamp(…)"')
    return undefined
  }
  return new Date(parseTimestamp(until)).toISOString().replace('.000Z', 'Z')
}

/** Reads a condition in CEL. Errors are reported at the exact character in the file. */
function readCondition(place: Place, text: string): Condition | undefined {
  const condition = compileCached(text)
  if (!isConditionError(condition)) return condition
  place.reportCharacter(condition.index, `: ${condition.message}`)
  return undefined
}

/**
 * Adds the end of a rule to its condition, as one more conjunct. So all that depends on the time treats it as it treats
 * `now` in conditions: nothing is cached past it, and changes are decided again at the end of their body.
 */
function limitCondition(
  place: Place,
  condition: Condition | undefined,
  until: string | undefined,
): Condition | undefined {
  if (until === undefined) return condition
  const end = `now < timestamp("${until}")`
  // A line break, because the condition may end with a comment.
  const limited = compileCached(condition === undefined ? end : `${end} && (${condition.text}\n)`)
  if (!isConditionError(limited)) return limited
  place.report(`: with "when", the condition ${limited.message}`)
  return undefined
}

export function compileCached(text: string): Condition | ConditionError {
  let condition = conditionCache.get(text)
  if (condition === undefined) {
    condition = compileCondition(text)
    conditionCache.set(text, condition)
  }
  return condition
}

/** Many rules have equal conditions. */
const conditionCache = new LRUCache<string, Condition | ConditionError>({ max: 1000 })

/** Every caller, with a credential or without. */
const everyone: Subjects = {
  users: [],
  groups: [],
  keys: [],
  any: true,
  anonymous: true,
  except: undefined,
}

export function readSubjects(
  place: Place,
  subjects: Lenient<z.output<typeof subjectsSchema>> | undefined,
): Subjects {
  if (subjects === undefined) return { ...noSubjects, any: false, anonymous: false, except: undefined }
  const named = Object.keys(subjects).filter((key) => key !== 'except')
  if (named.length === 0) place.report(' names no subject; expected users, groups or "any: true"')
  const { everyone = false, any = everyone, anonymous = everyone, except } = subjects
  if (everyone && named.length > 1)
    place.report(' has more than "everyone: true", which is every caller; expected only "except" beside it')
  return {
    ...readNamedSubjects(place, subjects),
    any,
    anonymous,
    except: except && readExceptions(place.at('except'), except),
  }
}

type WrittenNames = Lenient<z.output<typeof namedSubjectsSchema>>

function readExceptions(place: Place, names: WrittenNames): NamedSubjects {
  if (Object.keys(names).length === 0) place.report(' names no subject; expected users or groups')
  return readNamedSubjects(place, names)
}

const noNames: readonly string[] = []
const noSubjects: NamedSubjects = { users: noNames, groups: noNames, keys: noNames }

function readNamedSubjects(place: Place, names: WrittenNames): NamedSubjects {
  const users = readSubjectNames(place, 'users', names)
  const groups = readSubjectNames(place, 'groups', names)
  const keys = readSubjectNames(place, 'keys', names)
  // The principals in the tokens of the accounts.
  const accounts = names.serviceAccounts?.flatMap(
    (account) => account?.replace(/^(.+):(.+)\/(.+)$/, '$1:system:serviceaccount:$2:$3') ?? [],
  )
  return { users: accounts === undefined ? users : [...users, ...accounts], groups, keys }
}

function readSubjectNames(
  place: Place,
  field: 'users' | 'groups' | 'keys',
  { [field]: names }: WrittenNames,
): readonly string[] {
  return names === undefined ? noNames : readTexts(place.at(field), names, describeSubjectName)
}

function describeSubjectName(name: string): string | undefined {
  // oxlint-disable-next-line no-control-regex
  if (name === '' || /[\u0000-\u001f\u007f-\u009f]/.test(name))
    return ` is ${JSON.stringify(name)}, which is not a valid name`
  if (!name.includes('*')) return describePlaceholder(name)
  return ' contains "*"; names are exact; use "any: true" for every caller'
}

const requirements = [
  ['folders', allowOnlyFolders],
  ['metadata', requireMetadataKeys],
] as const

/**
 * Reads what is required of commits as rules that deny those that do not meet it, with the ids `commits.folders` and
 * `commits.metadata`. Reports all errors.
 */
export function readCommits(
  place: Place,
  commits: Lenient<z.output<typeof commitsSchema>> = {},
  vocabulary: PolicyVocabulary,
): readonly PolicyRule[] {
  const isMistaken = place.isFaulty && !place.at('except').isFaulty
  const except = commits.except && readExceptions(place.at('except'), commits.except)
  const createRule = (place: Place, id: string, requirement?: CommitRequirement): PolicyRule => ({
    id,
    effect: 'deny',
    subjects: { ...everyone, except },
    // Nothing fulfils a requirement that cannot be read.
    permissions: requirement?.permissions ?? vocabulary.expand(['change', 'credentials'], 'deny'),
    implied: nothingImplied,
    tables: undefined,
    condition: requirement?.condition,
    ...(requirement !== undefined && { message: requirement.message }),
    ...place.position,
  })
  const rules = requirements.flatMap(([name, create]) => {
    if (!(name in commits)) return []
    const item = place.at(name)
    const texts = readTexts(item, commits[name], (text) => {
      const problem = name === 'folders' ? validateFolder(text) : undefined
      return problem === undefined ? undefined : `: ${problem}`
    })
    return [createRule(item, `commits.${name}`, item.isFaulty ? undefined : create(texts))]
  })
  if (rules.length > 0) return rules
  if (!isMistaken) place.report(' requires nothing; expected folders, metadata, or both')
  return [createRule(place, 'commits')]
}
