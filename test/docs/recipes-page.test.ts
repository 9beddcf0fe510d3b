import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { projectFolder } from '../e2e/built-program.ts'
import { listCommands } from '../support/code-blocks.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const page = await readFile(join(projectFolder, 'docs/recipes.md'), 'utf8')

const recipes = [...page.matchAll(/^```yaml policy (\S+)\n(.*?)^```/gms)].map(
  ([, name = '', policy = '']) => ({ name, policy }),
)

it.each(page.split('\n## ').slice(1))('each recipe has a policy: %s', (recipe) => {
  expect(recipe).toMatch(/^```yaml policy /m)
})

it('the tests of all recipes pass together', async () => {
  const policies = join(await temporaryFolder(), 'policies')
  await mkdir(policies)
  for (const { name, policy } of recipes) await writeFile(join(policies, `${name}.yaml`), policy)
  const end = await runCommand(['policy', 'test', '--policies', policies])
  expect(end.output + end.messages).toMatch(/^(\d+) of \1 tests passed/m)
  expect(end.status).toBe(0)
})

it.each(recipes)('the tests of the recipe "$name" pass and cover its rules', async ({ name, policy }) => {
  const policies = join(await temporaryFolder(), 'policies')
  await mkdir(policies)
  await writeFile(join(policies, `${name}.yaml`), policy)
  const [test = [], lint = []] = listCommands(page).map((command) =>
    command
      .split(' ')
      .slice(1)
      .map((word) => (word === 'POLICIES' ? policies : word)),
  )
  const tested = await runCommand(test)
  expect(tested.output + tested.messages).toMatch(/^(\d+) of \1 tests passed/m)
  expect(tested.output).not.toContain('untested')
  expect(tested.status).toBe(0)
  // The linter warns of grants that have expired, and recipes show dates.
  const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.parse('2027-01-01T00:00:00Z'))
  onTestFinished(() => clock.mockRestore())
  expect((await runCommand(lint)).output).toMatch(/^0 errors, 0 warnings/m)
})
