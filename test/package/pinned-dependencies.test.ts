import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { projectFolder } from '../e2e/built-program.ts'

it.each(['.', 'src/backend'])('the dependencies of %s are pinned to a version', (folder) => {
  const { dependencies } = JSON.parse(readFileSync(join(projectFolder, folder, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  const ranges = Object.entries(dependencies).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))
  expect(ranges).toEqual([])
})
