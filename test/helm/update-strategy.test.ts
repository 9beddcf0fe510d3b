import { expect, it } from 'vitest'
import { render, valuesFile } from './chart.ts'
import { helms } from './helm-programs.ts'

it.skipIf(helms.length === 0)('a Deployment gets the strategy of updates in its own field', async () => {
  const words = ['--values', valuesFile('without-volumes'), '--set', 'updateStrategy.type=Recreate']
  const spec = (await render(words)).find(({ kind }) => kind === 'Deployment')?.spec
  expect(spec).toMatchObject({ strategy: { type: 'Recreate' } })
  expect(spec).not.toHaveProperty('updateStrategy')
})
