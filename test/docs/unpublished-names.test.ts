import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { projectFolder } from '../e2e/built-program.ts'

/** Commands by which npm would fetch the packages by name, and run what anyone has published under it. */
const fetched = /\b(npx|npm (install|i|exec|add))( [^\s`]+)* @?catalog-gateway(\/catalog)?(?![\w./-])/

const paths = [
  '*.md',
  'docs',
  'policies',
  'examples',
  'helm',
  'site/index.md',
  'src',
  '.github',
  'Dockerfile',
]

it('nothing tells people to fetch the packages by name, which are not published', () => {
  expect('npm install catalog-gateway @catalog-gateway/catalog').toMatch(fetched)
  expect('npx catalog-gateway@0.1.0 check').toMatch(fetched)
  expect('npm install --global ./catalog-gateway').not.toMatch(fetched)
  const files = execFileSync('git', ['ls-files', '--', ...paths], { cwd: projectFolder, encoding: 'utf8' })
  const lines = files
    .trim()
    .split('\n')
    .flatMap((file) => readFileSync(join(projectFolder, file), 'utf8').split('\n'))
  expect(lines.filter((line) => fetched.test(line))).toEqual([])
})
