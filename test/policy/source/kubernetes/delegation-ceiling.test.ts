import { expect, it } from 'vitest'
import { createExtraOperations } from '../../../../src/catalog-api/extra-operation.ts'
import {
  createPolicyVocabulary,
  builtInVocabulary,
} from '../../../../src/policy/language/policy-vocabulary.ts'
import { listDelegatedPermissions } from '../../../../src/policy/source/kubernetes/delegation-ceiling.ts'

const operation = {
  method: 'POST',
  path: '/v1/table/{id}/warm',
  effect: 'read',
  query: {},
  idMembers: {},
  body: 'none',
  response: 'json',
} as const
const vocabulary = createPolicyVocabulary(
  createExtraOperations([
    {
      extraOperations: [
        { ...operation, name: 'PrewarmTable', group: 'browse' },
        { ...operation, name: 'CloneTable', path: '/v1/table/{id}/clone' },
      ],
    },
  ]),
)

function listOutside(
  additional: readonly string[] = [],
  { permissions: { names } } = vocabulary,
): readonly string[] {
  const delegated = listDelegatedPermissions(vocabulary, additional)
  return names.filter((name) => !delegated.has(name))
}

// A new operation outside of the groups is outside of every delegation until this list is changed deliberately.
it('what attaches storage, hands out credentials, reads any table or concerns jobs is outside of a delegation', () => {
  const outside = listOutside([], builtInVocabulary)
  expect(new Set(outside)).toEqual(
    new Set([
      'RegisterTable',
      'CreateTableVersion',
      'AlterTableBackfillColumns',
      'ListJobs',
      'DescribeJob',
      'CancelJob',
      'QueryJobEvents',
      'CreateMaterializedView',
      'RefreshMaterializedView',
      'CreateView',
      'CreateFunction',
      'ChooseLocation',
      'ChooseStorage',
      'ReadAnyTable',
      'VendCredentials',
    ]),
  )
})

it('an extra operation is delegated only by name, whatever its group', () => {
  expect(listOutside()).toEqual(expect.arrayContaining(['PrewarmTable', 'CloneTable']))
  expect(listOutside(['PrewarmTable'])).not.toContain('PrewarmTable')
  expect(listOutside(['PrewarmTable'])).toContain('CloneTable')
})
