import { describe, expect, it } from 'vitest'
import { podsOf, render } from './chart.ts'
import { helms } from './helm-programs.ts'

async function environmentOfTest(...words: readonly string[]): Promise<unknown> {
  const pods = podsOf(await render(words))
  return pods.find(({ component }) => component === 'test')?.pod.containers[0]?.env
}

describe.skipIf(helms.length === 0)('helm test', () => {
  it('calls the gateway under its base path', async () => {
    expect(await environmentOfTest('--set', 'config.listen.basePath=/lance')).toContainEqual({
      name: 'TARGET',
      value: 'http://release-catalog-gateway:80/lance/v1/namespace/$/list',
    })
  })

  it('expects no refusal without a credential where callers may be anonymous', async () => {
    const anonymous = { name: 'ACCEPTS_ANONYMOUS', value: 'true' }
    const values = 'config.identity.anonymous=true,policies.existingConfigMaps[0]=policies'
    expect(await environmentOfTest('--set', values)).toContainEqual(anonymous)
    expect(await environmentOfTest()).not.toContainEqual(anonymous)
  })
})
