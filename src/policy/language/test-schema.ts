import { z } from 'zod'
import { isInNamespace, type Permission } from '../../catalog-api/index.ts'
import { objectKindOfPermission } from '../engine/object-position.ts'
import type { DecisionTest } from '../testing/decision-test.ts'
import type { DocumentReader, Path } from './document-reader.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'
import { checked, fullListOf, optional, text, yes, type NameSchemas } from './schema-parts.ts'
import {
  callerSchema,
  createCaller,
  createFactsSchema,
  createWrittenRequest,
  findUnstatedFacts,
} from './written-request.ts'

const objectFields = ['namespace', 'table', 'transaction'] as const
type ObjectField = (typeof objectFields)[number]

function objectFieldFor(permission: Permission): ObjectField {
  const kind = objectKindOfPermission(permission)
  if (kind === 'transaction') return kind
  return isInNamespace(kind) ? 'table' : 'namespace'
}

/** Undefined if the test has none, or several. */
function findObjectField(test: object): ObjectField | undefined {
  const [field, ...more] = objectFields.filter((name) => name in test)
  return more.length > 0 ? undefined : field
}

export function createTestSchema(names: NameSchemas, vocabulary: PolicyVocabulary) {
  const { path, operations } = names
  const table = path.min(1, { error: 'its namespace and its name' })
  const transaction = path.min(2, { error: 'the id of its table, and its own name' })
  return checked(
    z.strictObject({
      name: optional(text, 'Description of the test.'),
      as: optional(callerSchema, 'The caller. Default: a caller that no policy names.'),
      operations: operations.describe('Operations, or groups of them; each is decided separately.'),
      namespace: optional(path, 'The namespace, as a list of names.'),
      table: optional(table, 'The table, view or function: namespace and name, as a list of names.'),
      transaction: optional(
        transaction,
        'The transaction: the id of its table and its own name, as a list of names.',
      ),
      beneath: optional(yes, 'true: the namespace and everything beneath it, existing or not.'),
      given: optional(createFactsSchema(names), 'Facts of the request, by their names in conditions.'),
      expect: z.enum(['allow', 'deny']).describe('allow, or deny.'),
      rule: optional(text, 'The expected deciding rule: its id, or policy/id.'),
      message: optional(
        text,
        'With deny: a part of the `message` that callers who may know of the object read.',
      ),
      sends: optional(
        text,
        "With allow: the expected condition of restrictions on rows, as `policy explain` prints it, such as (`region` = 'EU').",
      ),
      columns: optional(
        fullListOf(() => undefined, '[id, person.city]'),
        'With allow: the columns that restrictions are expected to leave, in any order, such as [id, person.city].',
      ),
    }),
    (test, report) => {
      const { beneath = false, given = {} } = test
      const { permissions } = vocabulary.cover(test.operations, 'allow')
      for (const [fact, problem] of permissions.size === 0 ? [] : findUnstatedFacts(given, permissions))
        report(`: ${problem}`, ['given', fact])
      const field = findObjectField(test)
      if (field === undefined) {
        const found = objectFields.filter((name) => name in test).join(' and ') || 'no object'
        return ` names ${found}; expected exactly one of ${objectFields.join(', ')}`
      }
      if (beneath && field !== 'namespace') report(' is allowed only with "namespace"', ['beneath'])
      if (beneath) return undefined
      // Members of a group that do not apply to the object are skipped; an operation that is named must apply to it.
      for (const [index, name] of test.operations.entries()) {
        const permission = vocabulary.permissions.names.find((candidate) => candidate === name)
        if (permission === undefined || objectFieldFor(permission) === field) continue
        const expected = `expected "${objectFieldFor(permission)}"`
        report(`: ${permission} does not apply to a ${field}; ${expected}`, ['operations', index])
      }
      if (permissions.size > 0 && ![...permissions].some((one) => objectFieldFor(one) === field))
        report(`: none of them applies to a ${field}`, ['operations'])
      return undefined
    },
  ).meta({ oneOf: objectFields.map((name) => ({ required: [name] })) })
}

/** Reads a test; none if it is mistaken. */
export function readTest(
  reader: DocumentReader,
  path: Path,
  vocabulary: PolicyVocabulary,
): Omit<DecisionTest, 'document' | 'file'> | undefined {
  const { isValid, value: test } = reader.read<z.output<ReturnType<typeof createTestSchema>>>(path)
  if (!isValid) return undefined
  const { name = '', beneath = false, given: facts } = test
  const principal = createCaller(test.as)
  const field = findObjectField(test)
  const id = (field && test[field]) ?? []
  const requests = [...vocabulary.cover(test.operations, 'allow').permissions]
    .filter((permission) => beneath || objectFieldFor(permission) === field)
    .map((permission) => createWrittenRequest({ principal, permission, id, facts, beneath }))
  return {
    line: reader.position(path).line,
    name,
    requests,
    beneath,
    expected: test.expect,
    expectedRule: test.rule,
    expectedMessage: test.message,
    expectedSends: test.sends,
    expectedColumns: test.columns,
  }
}
