import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startScript, temporaryFolder } from '../../e2e/built-program.ts'

async function buildIndex(...threads: string[]): Promise<string> {
  const script = new URL('stalled-process.ts', import.meta.url)
  const location = join(await temporaryFolder(), 'text.lance')
  return (await startScript(script, [location, ...threads]).ended).output
}

it('an index of text over 60,000 rows is built on any machine, as the engine has two threads', async () => {
  expect(await buildIndex()).toMatch(/^threads ([2-9]|\d\d+), built$/m)
})

it('an engine whose threads wait for each other is found stalled', async () => {
  expect(await buildIndex('1')).toBe('threads 1, stalled\n')
})
