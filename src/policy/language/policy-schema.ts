import { z } from 'zod'
import { acceptanceHint } from '../../config/index.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { getMembers, isObject } from '../../lib/json/json-values.ts'
import { parseTimestamp } from '../../lib/time.ts'
import type { ConditionError } from '../conditions/condition-errors.ts'
import { compileCondition, isConditionError, type Condition } from '../conditions/condition.ts'
import { validateFolder } from '../conditions/storage-path.ts'
import { isNamespaceMember } from '../engine/object-position.ts'
import { columnTypes, type FilterExpression } from '../restrictions/filter-expression.ts'
import { FilterError } from '../restrictions/filter-tokens.ts'
import { parseFilter } from '../restrictions/parse-filter.ts'
import type { VisibleColumns } from '../restrictions/restriction.ts'
import { expectedVariable, isVariableName } from './for-each.ts'
import { builtInVocabulary, type PolicyVocabulary } from './policy-vocabulary.ts'
import {
  anyOf,
  checked,
  createNameSchemas,
  describeSubject,
  either,
  filledLabel,
  fullList,
  fullListOf,
  fullMapOf,
  label,
  line,
  list,
  mapOf,
  matching,
  optional,
  text,
  texts,
  time,
  toSubschema,
  yes,
} from './schema-parts.ts'
import { createTestSchema } from './test-schema.ts'
import { descriptionAnnotation, fileApiVersion, policyKind, resourceApiVersion } from './api-version.ts'

/*
 * The policy language: the parser, its types, the JSON Schema for editors and the CustomResourceDefinition are made from
 * these schemas. They read values of YAML as they are and convert nothing.
 */

const tagNames = fullList(filledLabel, '[pii]')
const columnType = z.enum(columnTypes)

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

const ruleId = filledLabel.describe('Unique in the document: logs and audit records name it.')

/** Letters and digits of any script: filters have them in backticks. */
const columnNameGrammar = /^[\p{L}\p{N}_ -]{1,256}$/u

/** A map of columns by their path. A part of a struct is `person.city`; then the struct itself is none of them. */
function columnsOf<Column extends z.ZodType>(column: Column, expected: string) {
  return checked(fullMapOf(column, expected), (columns, report) => {
    const paths = Object.keys(columns)
    for (const path of paths) {
      if (path.split('.').every((name) => columnNameGrammar.test(name))) continue
      const names =
        'names of letters, digits, "_", "-" and spaces, with "." between those of a struct and its field'
      report(` has ${JSON.stringify(path)}; expected ${names}`, [], { key: path })
    }
    for (const path of paths) {
      const names = path.split('.')
      const whole = names
        .map((_, length) => names.slice(0, length).join('.'))
        .find((prefix) => Object.hasOwn(columns, prefix))
      if (whole === undefined) continue
      const problem = `${JSON.stringify(path)}, a part of ${JSON.stringify(whole)}; expected one of them`
      report(` has ${problem}`, [], { key: path })
    }
  })
}

const columnsWithout = z.strictObject({
  without: tagNames.describe(
    'Tags. Of each table, the columns remain that its namespace declares in `tags` and that have none of these.',
  ),
})

const visibleColumns = either(
  columnsOf(columnType, 'a map of columns, such as { id: number, name: text }'),
  columnsWithout,
  isWithout,
)

const taggedColumn = z.strictObject({
  type: columnType.describe('The type of the column.'),
  tags: optional(tagNames, 'Tags of the column. Its table does not have them.'),
})

const taggedTable = z.strictObject({
  tags: optional(tagNames, 'Tags of the table, which all its columns have, too.'),
  columns: optional(
    columnsOf(
      either(columnType, taggedColumn, isObject),
      'a map of columns, such as { id: number, ssn: { type: text, tags: [pii] } }',
    ),
    'Columns, each with its type, or with type and tags: { id: number, ssn: { type: text, tags: [pii] } }.',
  ),
})

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

const apiVersion = z.enum([fileApiVersion, resourceApiVersion]).describe('The version of the language.')
const policyName = label.describe('Unique in the folder of policies; appears in logs and audit records.')

const fileMetadata = z.strictObject({
  name: policyName,
  description: optional(text, 'Description.'),
})

const ignored = optional(z.unknown(), 'Ignored.')

/** The fields from `uid` on are set by the API server. */
const resourceMetadata = z.strictObject({
  name: policyName,
  namespace: optional(text, 'The Kubernetes namespace; ignored in files.'),
  labels: optional(texts, 'Labels; ignored.'),
  annotations: optional(texts, `Annotations; ${descriptionAnnotation} is the description.`),
  uid: ignored,
  resourceVersion: ignored,
  generation: ignored,
  creationTimestamp: ignored,
  deletionTimestamp: ignored,
  deletionGracePeriodSeconds: ignored,
  finalizers: ignored,
  generateName: ignored,
  ownerReferences: ignored,
  managedFields: ignored,
})

/** By version. */
export const metadataSchemas = { [fileApiVersion]: fileMetadata, [resourceApiVersion]: resourceMetadata }

const metadataByVersion = {
  oneOf: Object.entries(metadataSchemas).map(([version, metadata]) => ({
    properties: { apiVersion: { const: version }, metadata: toSubschema(metadata) },
  })),
}

export const forEachSchema = checked(
  mapOf(fullList(label, '[crm, billing]'), expectedVariable),
  (variables, report) => {
    const [variable = '', ...more] = Object.keys(variables)
    if (more.length > 0 || !isVariableName(variable)) {
      const found = Object.keys(variables).map((key) => JSON.stringify(key))
      report(` has ${found.join(', ') || 'no variable'}; expected ${expectedVariable}`)
    }
    const values = new Set<string>()
    for (const [index, value] of variables[variable]?.entries() ?? []) {
      if (values.has(value)) report(`: duplicate value "${value}"`, [variable, index])
      values.add(value)
    }
  },
)

export type PolicySchemas = ReturnType<typeof createPolicySchemas>

/** A policy has at least one of them. */
export const policyParts = ['rules', 'commits', 'restrict', 'tags']

export const exampleOf = {
  restrict: '[{ id, subjects, tables, columns }]',
  rules: '[{ id, effect, subjects, operations }]',
  tests: '[{ as, operations, table, expect }]',
}

/** Creates the schemas of policies that may contain the names of a vocabulary. */
function createPolicySchemas(vocabulary: PolicyVocabulary) {
  const names = createNameSchemas(vocabulary)
  const rule = checked(
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
      when: checked(text, (condition, report) => {
        const compiled = compileCondition(condition)
        if (isConditionError(compiled)) report(`: ${compiled.message}`, [], compiled)
      })
        .meta({ maxLength: 2000, description: 'A condition in CEL that must hold for the rule to apply.' })
        .optional(),
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
      const permissions = [...vocabulary.expand(operations, effect)]
      if (tables !== undefined && permissions.length > 0 && !permissions.some(isTablePermission))
        report(' has no effect: none of the operations applies to a table', ['tables'])
      if (until !== undefined && effect === 'deny')
        report(' is allowed only with effect: allow; a deny may have "when: now < timestamp(…)"', ['until'])
      const isWrong = when !== undefined && isConditionError(compileCondition(when))
      const condition = isWrong ? undefined : compileRuleCondition({ when, until })
      if (condition !== undefined && isConditionError(condition))
        report(`: with "when", the condition ${condition.message}`, ['until'])
      if (message !== undefined && effect === 'allow' && when === undefined && until === undefined)
        report(' has no effect: an allow without "when" and "until" refuses nobody', ['message'])
    },
  )

  const restriction = checked(
    z.strictObject({
      id: ruleId,
      subjects: subjectsSchema.describe('The callers, and exceptions.'),
      tables: names.tables.describe(
        'Patterns of names of tables directly in the namespace. All that is not reading them is denied to the callers.',
      ),
      columns: visibleColumns.describe(
        'The only columns that the callers may read, each with its type, such as { id: number, person.city: text }. ' +
          'New columns of a table stay hidden. Or { without: [pii] }: the columns that `tags` declares for the table, but those ' +
          'with one of these tags.',
      ),
      rows: optional(
        text,
        "A condition on the only rows that the callers may read, such as region = 'EU' and tenant in " +
          '$principal.claims.tenants. Default: all rows.',
      ),
    }),
    ({ rows, columns }, report) => {
      try {
        parseRows(rows, columns)
      } catch (error) {
        if (!(error instanceof FilterError)) throw error
        report(`: ${error.message}`, ['rows'], { index: error.offset })
      }
    },
  )

  const tags = z.strictObject({
    namespace: optional(
      tagNames,
      'Tags of the namespace: all that is or will be created beneath it has them, too.',
    ),
    tables: optional(
      checked(
        mapOf(taggedTable, 'a map of tables, such as { customers: { tags: [pii] } }'),
        (tables, report) => {
          for (const name of Object.keys(tables)) {
            const problem = name.includes('*')
              ? ' contains "*"; tables are declared by exact name, and tags.namespace is for all'
              : names.describeTable(name)
            if (problem !== undefined) report(`.${name}${problem}`, [], { key: name })
          }
        },
      ),
      'Tables directly in the namespace, by their exact name, each declared in one document only: ' +
        'their tags, and their columns with type and tags.',
    ),
  })

  const test = createTestSchema(names, vocabulary)
  const tests = list(test, exampleOf.tests).describe(
    'Expected decisions of the policies in the folder, for `policy test`; no effect on requests.',
  )

  const policy = z.strictObject({
    apiVersion,
    kind: z.literal(policyKind).describe('The kind of the document.'),
    metadata: z.unknown().describe('Name and description of the policy.'),
    mode: optional(
      checked(z.enum(['enforce', 'shadow', 'development']), (mode, report) => {
        if (mode !== 'development' || vocabulary.options.acceptsDevelopment) return
        const expected = `another folder, ${acceptanceHint('development-policies')} in the settings`
        report(` is development: the policy is for \`catalog-gateway dev\` alone; expected ${expected}`)
      }),
      'shadow: the policy is evaluated, but only differences are counted and logged. development: it is in force in ' +
        '`catalog-gateway dev` alone; other gateways refuse it. Default: enforce.',
    ),
    forEach: forEachSchema
      .meta({
        minProperties: 1,
        maxProperties: 1,
        description:
          'One variable and its values, such as { team: [crm, billing] }: the policy is one for each value, which replaces ' +
          '{team} in every text. Values are names; {team} must be in the namespace.',
      })
      .optional(),
    namespace: names.namespace.describe('The namespace of the policy, as a list of names. [] is the root.'),
    inherit: optional(z.boolean(), 'false: allow rules of parent namespaces do not apply here or beneath.'),
    final: optional(
      names.operations,
      'Operations, or groups of them, that policies of child namespaces cannot allow.',
    ),
    onDeny: z
      .literal([403, 404])
      .meta({
        type: 'integer',
        description:
          'Response to a denial, here and beneath. 404: conceal that the object exists. 403: denied. ' +
          'Default: 403 for callers that may list the object, otherwise 404.',
      })
      .optional(),
    contact: optional(
      line,
      'Whom to ask for access, in one line: shown with a denial here or beneath to callers that may see this namespace.',
    ),
    commits: optional(commitsSchema, 'What every new version of a table, here or beneath, must fulfil.'),
    restrict: optional(
      list(restriction, exampleOf.restrict),
      'What callers may read of tables of which they may not read everything. A restriction allows nothing, and nothing ' +
        'beneath undoes it.',
    ),
    tags: optional(
      tags,
      'Tags of the namespace and of tables and columns in it, for conditions ("pii" in tags) and restrictions ' +
        '(columns: { without: [pii] }). They allow and deny nothing by themselves.',
    ),
    rules: optional(list(rule, exampleOf.rules), 'Allow and deny rules.'),
    tests: tests.optional(),
  })

  const decisionTable = z.strictObject({
    apiVersion,
    kind: z.literal('DecisionTable').describe('The kind of the document.'),
    metadata: z.unknown().describe('Name and description of the table.'),
    tests,
  })

  // Checked one item at a time, because a document may have many, or by what other fields say.
  const unchecked = z.unknown().optional()
  const document = policy.extend({
    metadata: unchecked,
    forEach: unchecked,
    commits: unchecked,
    tags: unchecked,
    restrict: list(z.unknown(), exampleOf.restrict).optional(),
    rules: list(z.unknown(), exampleOf.rules).optional(),
    tests: list(z.unknown(), exampleOf.tests).optional(),
  })
  return {
    rule,
    restriction,
    commits: commitsSchema,
    tags,
    test,
    policy: policy.meta({
      title: 'AccessPolicy of the catalog gateway',
      ...anyOf(policyParts),
      ...metadataByVersion,
    }),
    /** A policy, but for the parts that are checked by themselves. */
    document,
    decisionTable: decisionTable.meta({
      title: 'DecisionTable of the catalog gateway',
      ...metadataByVersion,
    }),
    /** A decision table, but for the parts that are checked by themselves. */
    table: decisionTable.extend({ metadata: unchecked, tests: list(z.unknown(), exampleOf.tests) }),
  }
}

/**
 * Compiles the condition of a rule. The end of a rule is one more conjunct, so all that depends on the time treats it as it
 * treats `now` in conditions: nothing is cached past it, and changes are decided again at the end of their body.
 */
export function compileRuleCondition({
  when,
  until,
}: {
  readonly when: string | undefined
  readonly until: string | undefined
}): Condition | ConditionError | undefined {
  if (until === undefined) return when === undefined ? undefined : compileCondition(when)
  const end = `now < timestamp("${formatEnd(until)}")`
  // A line break, because the condition may end with a comment.
  return compileCondition(when === undefined ? end : `${end} && (${when}\n)`)
}

/** The end of a rule in UTC. */
export function formatEnd(until: string): string {
  return new Date(parseTimestamp(until)).toISOString().replace('.000Z', 'Z')
}

/**
 * Parses a condition on rows. Columns that the caller does not see may be named: their type is that of the literal. Throws
 * FilterError.
 */
export function parseRows(
  text: string | undefined,
  columns: z.output<typeof visibleColumns>,
): FilterExpression | undefined {
  if (text === undefined) return undefined
  const types: VisibleColumns = isWithout(columns) ? new Map() : new Map(Object.entries(columns))
  return parseFilter(text, {
    findColumn: (path) => types.get(path.join('.')) ?? 'unknown',
    hasVariables: true,
  })
}

/** Whether columns are selected by their tags. A column may have the name `without`: its type is no list. */
export function isWithout(columns: unknown): columns is z.output<typeof columnsWithout> {
  return Array.isArray(getMembers(columns)['without'])
}

function isTablePermission(permission: Permission): boolean {
  return permission === 'ReadAnyTable' || isNamespaceMember(permission)
}

const created = new WeakMap<PolicyVocabulary, PolicySchemas>()

export function getPolicySchemas(vocabulary: PolicyVocabulary): PolicySchemas {
  let schemas = created.get(vocabulary)
  if (schemas === undefined) created.set(vocabulary, (schemas = createPolicySchemas(vocabulary)))
  return schemas
}

export const {
  policy: policySchema,
  decisionTable: decisionTableSchema,
  rule: ruleSchema,
} = getPolicySchemas(builtInVocabulary)
