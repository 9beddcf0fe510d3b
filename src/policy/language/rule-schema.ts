import { z } from 'zod'
import type { Permission } from '../../catalog-api/index.ts'
import { parseTimestamp } from '../../lib/index.ts'
import { createRequirement } from '../conditions/commit-requirements.ts'
import { compileCondition, type Condition, ConditionError } from '../conditions/condition.ts'
import { validateFolder } from '../conditions/condition-functions.ts'
import { isNamespaceMember } from '../engine/object-position.ts'
import type { DocumentReader, Path } from './document-reader.ts'
import type { NamedSubjects, PolicyRule, Subjects } from './policy-document.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'
import {
  anyOf,
  checked,
  describeSubject,
  filledLabel,
  fullList,
  fullListOf,
  line,
  matching,
  optional,
  text,
  time,
  yes,
  type NameSchemas,
} from './schema-parts.ts'

/*
 * Rules and requirements of commits, which are deny rules. An error must not lift a deny: a field of it that is mistaken is
 * replaced by the one that denies most.
 */

const subjectNames = fullListOf(describeSubject, '[alice, "corp:bob"]')
const serviceAccount = matching(/^[^:*]+:[a-z0-9-]+\/[a-z0-9.-]+$/, 'issuer:namespace/name', { minLength: 1 })

const namedSubjects = z.strictObject({
  users: optional(subjectNames, 'Principals: of an API key its principal, of a token issuer:subject.'),
  groups: optional(subjectNames, 'Groups: of a token issuer:group.'),
  keys: optional(subjectNames, 'Ids of API keys.'),
  serviceAccounts: optional(
    fullList(serviceAccount, '["cluster:etl/loader"]'),
    'Service accounts of Kubernetes, as issuer:namespace/name.',
  ),
})

const exceptions = checked(namedSubjects, (names, report) => {
  if (Object.keys(names).length === 0) report(' names no subject; expected users or groups')
}).meta({ minProperties: 1 })

const subjectFields = {
  ...namedSubjects.shape,
  everyone: optional(
    yes,
    'true: every caller, with or without a credential; only `except` may be beside it.',
  ),
  any: optional(yes, 'true: every authenticated caller.'),
  anonymous: optional(
    yes,
    'true: anonymous callers, if the settings accept them; no other field matches them.',
  ),
}

export const subjectsSchema = checked(
  z.strictObject({
    ...subjectFields,
    except: optional(exceptions, 'Callers that the rule does not apply to.'),
  }),
  ({ except: _except, ...named }, report) => {
    if (Object.keys(named).length === 0) report(' names no subject; expected users, groups or "any: true"')
    if (named.everyone && Object.keys(named).length > 1)
      report(' has more than "everyone: true", which is every caller; expected only "except" beside it')
  },
).meta(anyOf(Object.keys(subjectFields)))

export function createSubjects({
  everyone,
  any = everyone,
  anonymous = everyone,
  except,
  ...named
}: z.output<typeof subjectsSchema>): Subjects {
  return {
    ...createNamedSubjects(named),
    any: any ?? false,
    anonymous: anonymous ?? false,
    except: except && createNamedSubjects(except),
  }
}

function createNamedSubjects(names: z.output<typeof namedSubjects>): NamedSubjects {
  const { users = [], groups = [], keys = [], serviceAccounts = [] } = names
  // The principals in the tokens of the accounts.
  const accounts = serviceAccounts.map((account) =>
    account.replace(/^(.+):(.+)\/(.+)$/, '$1:system:serviceaccount:$2:$3'),
  )
  return { users: [...users, ...accounts], groups, keys }
}

export const ruleId = filledLabel.describe('Unique in the document: logs and audit records name it.')

/** Replacements of invalid fields of a deny or restriction. Without an id, it would be lifted. */
export function strictestRule(reader: DocumentReader, path: Path) {
  const position = reader.position(path)
  const id = `unnamed-${position.line}-${position.column}`
  return { position, strictest: { id, subjects: { everyone: true }, operations: ['all'], tables: ['*'] } }
}

export function createRuleSchema(names: NameSchemas, vocabulary: PolicyVocabulary) {
  return checked(
    z.strictObject({
      id: ruleId,
      effect: z.enum(['allow', 'deny']).describe('allow, or deny. A deny that applies always wins.'),
      subjects: subjectsSchema.describe('The callers that the rule applies to: those in any of the lists.'),
      operations: names.operations.describe('Operations of the interface, or groups of them.'),
      tables: optional(
        names.tables,
        'Names of tables directly in the namespace; * matches any characters. By default the rule covers the ' +
          'namespace and everything beneath it. A deny also covers what moves the tables.',
      ),
      when: optional(
        checked(text, (condition, report) => {
          const compiled = compileCondition(condition)
          if (compiled instanceof ConditionError) report(`: ${compiled.message}`, [], compiled)
        }).meta({ maxLength: 2000 }),
        'A condition in CEL that must hold for the rule to apply.',
      ),
      until: optional(
        time,
        'Only for allow: the time from which the rule no longer applies, such as 2027-01-31T10:00:00Z.',
      ),
      message: optional(
        line,
        'One line for callers that the rule denies, or that it does not allow because of its condition alone; ' +
          'shown with 403 to callers that may know of the object.',
      ),
    }),
    ({ effect, operations, tables, when, until, message }, report) => {
      const permissions = [...vocabulary.cover(operations, effect).permissions]
      if (tables !== undefined && permissions.length > 0 && !permissions.some(isTablePermission))
        report(' has no effect: none of the operations applies to a table', ['tables'])
      if (until !== undefined && effect === 'deny')
        report(' is allowed only with effect: allow; a deny may have "when: now < timestamp(…)"', ['until'])
      const isWrong = when !== undefined && compileCondition(when) instanceof ConditionError
      const condition = isWrong ? undefined : compileRuleCondition(when, until)
      if (condition instanceof ConditionError)
        report(`: with "when", the condition ${condition.message}`, ['until'])
      if (message !== undefined && effect === 'allow' && when === undefined && until === undefined)
        report(' has no effect: an allow without "when" and "until" refuses nobody', ['message'])
    },
  )
}

/** Reads a rule; none for an allow that is mistaken. */
export function readRule(
  reader: DocumentReader,
  path: Path,
  vocabulary: PolicyVocabulary,
): PolicyRule | undefined {
  const { position, strictest } = strictestRule(reader, path)
  const { isValid, value } = reader.read<z.output<ReturnType<typeof createRuleSchema>>>(path, strictest)
  const { id, effect, operations, tables, when, until, message } = value
  if (!isValid && effect !== 'deny') return undefined
  const end = effect === 'allow' && until !== undefined ? formatEnd(until) : undefined
  const condition = compileRuleCondition(when, end)
  if (condition instanceof ConditionError) throw new Error(condition.message)
  // Another name, or another namespace, has other tags.
  const coversMoves = tables !== undefined || (condition !== undefined && condition.tags.length > 0)
  return {
    id,
    effect,
    subjects: createSubjects(value.subjects),
    ...vocabulary.cover(operations, effect, coversMoves),
    tables,
    condition,
    when,
    until: end,
    message,
    ...position,
  }
}

/**
 * Compiles the condition of a rule. The end of a rule is one more conjunct, so all that depends on the time treats it as it
 * treats `now` in conditions: nothing is cached past it, and changes are decided again at the end of their body.
 */
function compileRuleCondition(
  when: string | undefined,
  until: string | undefined,
): Condition | ConditionError | undefined {
  if (until === undefined) return when === undefined ? undefined : compileCondition(when)
  const end = `now < timestamp("${formatEnd(until)}")`
  // A line break, because the condition may end with a comment.
  return compileCondition(when === undefined ? end : `${end} && (${when}\n)`)
}

function formatEnd(until: string): string {
  return new Date(parseTimestamp(until)).toISOString().replace('.000Z', 'Z')
}

function isTablePermission(permission: Permission): boolean {
  return permission === 'ReadAnyTable' || isNamespaceMember(permission)
}

export const commitsSchema = checked(
  z.strictObject({
    folders: optional(
      fullListOf((folder) => {
        const problem = validateFolder(folder)
        return problem === undefined ? undefined : `: ${problem}`
      }, '["s3://bucket/team"]'),
      'The only folders under which staging manifests and chosen locations may lie.',
    ),
    metadata: optional(
      fullListOf(() => undefined, '[ticket]'),
      'Keys that the metadata of a new version must have, with non-empty values.',
    ),
    except: optional(exceptions, 'Callers that this does not apply to.'),
  }),
  ({ folders, metadata }, report) => {
    if (folders === undefined && metadata === undefined)
      report(' requires nothing; expected folders, metadata, or both')
  },
).meta(anyOf(['folders', 'metadata']))

/** Reads the rules `commits.folders` and `commits.metadata`, which deny commits that do not meet the requirement. */
export function readCommits(reader: DocumentReader, vocabulary: PolicyVocabulary): readonly PolicyRule[] {
  const { isValid, value } = reader.read<z.output<typeof commitsSchema>>(['commits'])
  const { folders, metadata, except } = value
  const common = {
    effect: 'deny',
    subjects: createSubjects({ everyone: true, except }),
    implied: new Map<never, never>(),
    tables: undefined,
  } as const
  if (!isValid) {
    // Nothing fulfils a requirement that cannot be read.
    const coverage = vocabulary.cover(['change', 'credentials'], 'deny')
    return [{ ...common, ...coverage, id: 'commits', condition: undefined, ...reader.position(['commits']) }]
  }
  const requirements = {
    ...(folders && { folders: { folders } }),
    ...(metadata && { metadata: { metadata } }),
  }
  return Object.entries(requirements).map(([name, requirement]) => ({
    ...common,
    id: `commits.${name}`,
    ...createRequirement(requirement),
    ...reader.position(['commits', name]),
  }))
}
