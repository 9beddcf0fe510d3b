import { expect, it } from 'vitest'
import { createExtraOperations } from '../../../../src/catalog-api/extra-operation.ts'
import {
  createPolicyVocabulary,
  builtInVocabulary,
} from '../../../../src/policy/language/policy-vocabulary.ts'
import { extraOperations } from '../../../gateway/support/extra-operations.ts'
import { listDelegatedPermissions } from '../../../../src/policy/source/kubernetes/review-resources.ts'

const vocabulary = createPolicyVocabulary({ extraOperations: createExtraOperations([{ extraOperations }]) })

function listOutside(
  additional: readonly string[] = [],
  { permissions: { names } } = vocabulary,
): readonly string[] {
  const delegated = listDelegatedPermissions(vocabulary, additional)
  return names.filter((name) => !delegated.has(name))
}

it('what attaches storage, hands out credentials, reads any table or object, or concerns jobs or grants is outside of a delegation', () => {
  const outside = listOutside([], builtInVocabulary)
  const expected = `
    RegisterTable CloneTable CreateTableVersion AlterTableBackfillColumns EnableTableRte ListJobs
    DescribeJob CancelJob PauseJob ResumeJob QueryJobEvents CreateMaterializedView
    RefreshMaterializedView CreateView CreateFunction ChooseLocation ChooseStorage ReadAnyTable
    UseFunction UseSecret VendCredentials ReferenceData ListGrants AddGrant DeleteGrant
    ListRoleBindings AddRoleBinding DeleteRoleBinding DescribePrincipal DescribeGroup`
  expect(new Set(outside)).toEqual(new Set(expected.trim().split(/\s+/)))
})

it('an extra operation is delegated only by name, whatever its group', () => {
  expect(listOutside()).toEqual(expect.arrayContaining(['PrewarmTable', 'MirrorTable']))
  expect(listOutside(['PrewarmTable'])).not.toContain('PrewarmTable')
  expect(listOutside(['PrewarmTable'])).toContain('MirrorTable')
})
