import { describe, expect, it } from 'vitest'
import { render } from './chart.ts'
import { helms } from './helm-programs.ts'

describe.skipIf(helms.length === 0)('the validation of policies by the API server', () => {
  it.each([
    ['true', [{ validationActions: ['Deny'] }]],
    ['false', []],
  ])('is there with requireStrictValidation %s: %j', async (isStrict, expected) => {
    const kubernetes = `policies.kubernetes.enabled=true,policies.kubernetes.requireStrictValidation=${isStrict}`
    const manifests = await render(['--kube-version', '1.31.0', '--set', kubernetes])
    const bindings = manifests.filter(({ kind }) => kind === 'ValidatingAdmissionPolicyBinding')
    expect(bindings.map(({ spec }) => spec)).toMatchObject(expected)
  })
})
