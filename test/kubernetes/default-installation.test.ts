import { expect, it } from 'vitest'
import { helms } from '../helm/helm-programs.ts'
import { installRelease } from './support/release.ts'

it.each(helms)('the default values install a gateway that passes the helm test, with %s', async (program) => {
  const release = await installRelease({}, { program })
  const output = await release.helm(['test', 'demo', '--timeout', '2m'], program)
  expect(output).toMatch(/Phase:\s+Succeeded/)
})
