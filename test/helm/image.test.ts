import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { projectFolder } from '../e2e/built-program.ts'

// CI builds both images, and looks for packages of development in them (.github/workflows/ci.yml).
const read = (name: string): Promise<string> => readFile(join(projectFolder, name), 'utf8')
const lines = (await read('Dockerfile')).split('\n')
const stages = lines.flatMap((line) => {
  const [, from = '', name = ''] = /^FROM (\S+) AS (\S+)$/.exec(line) ?? []
  return name === '' ? [] : [{ from, name }]
})

it('the image only contains files of the repository', async () => {
  const copied = lines
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
    .flatMap((line) => line.split(' ').slice(1, -1))
  const [everything, ...named] = (await read('.dockerignore'))
    .split('\n')
    .filter((line) => /^[*!]/.test(line))
  expect(everything).toBe('*')
  const outsideSources = copied.filter((name) => !name.startsWith('src/'))
  expect(new Set(outsideSources.map((name) => `!${name.replace('./', '')}`))).toEqual(new Set(named))
  for (const name of copied) expect(existsSync(join(projectFolder, name)), name).toBe(true)
})

it('the images run as an unprivileged user on the newest tested Node, by default the gateway', () => {
  const names = stages.map(({ name }) => name)
  const bases = stages.map(({ from }) => from).filter((from) => !names.includes(from))
  expect(new Set(bases)).toEqual(new Set(['node:24-bookworm-slim']))
  expect(stages).toContainEqual({ from: 'program', name: 'gateway' })
  expect(stages).toContainEqual({ from: 'program', name: 'catalog' })
  expect(names.at(-1)).toBe('gateway')
  const program = lines.slice(lines.findIndex((line) => line.endsWith(' AS program')))
  expect(program.find((line) => line.startsWith('USER '))).toMatch(/^USER [1-9]\d{4,}:[1-9]\d{4,}$/)
  expect(program).toContain('ENTRYPOINT ["node", "/app/dist/main.js"]')
})
