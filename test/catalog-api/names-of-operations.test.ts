import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseSync, Visitor } from 'oxc-parser'
import { expect, it } from 'vitest'
import { isOperationName } from '../../src/catalog-api/operations.ts'

const source = fileURLToPath(new URL('../../src/', import.meta.url))

/** Descriptions of operations, programs that implement them, and commands, which show examples. */
const describing = /^(?:catalog-api\/(?:operations\.ts|schemas\/|openapi\/)|backend\/|commands\/)/

/** Files that may name operations, with the reason. Knowledge of an operation belongs to its entry in the table. */
const exceptions: Readonly<Record<string, string>> = {
  'audit/compare/recorded-versions.ts': 'which versions a change makes without naming them',
  'catalog-api/place-in-database.ts': 'clients in a database call another listing for this one',
  'gateway/upstream/own-client.ts': 'the gateway sends these operations itself',
}

/** Lists the strings of the file that name operations, keys of objects included. */
function findNames(file: string): readonly string[] {
  const names: string[] = []
  const add = (text: string): void => {
    if (isOperationName(text)) names.push(text)
  }
  const { program, errors } = parseSync(file, readFileSync(source + file, 'utf8'))
  if (errors.length > 0) throw new Error(`${file} cannot be parsed`)
  new Visitor({
    Literal({ value }) {
      if (typeof value === 'string') add(value)
    },
    TemplateElement({ value }) {
      add(value.cooked ?? '')
    },
    MemberExpression({ property, computed }) {
      if (property.type === 'Identifier' && !computed) add(property.name)
    },
    Property({ key, computed }) {
      if (key.type === 'Identifier' && !computed) add(key.name)
    },
  }).visit(program)
  return names
}

const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !describing.test(file))
const naming = files.filter((file) => findNames(file).length > 0)

it('names of operations stand in the operations table only, with few exceptions', () => {
  expect(Object.keys(exceptions).length).toBeLessThanOrEqual(5)
  expect(naming.filter((file) => !(file in exceptions))).toEqual([])
})

it('every exception is still needed', () => {
  expect(Object.keys(exceptions).filter((file) => !naming.includes(file))).toEqual([])
})

it('finds names wherever they stand', () => {
  expect(findNames('catalog-api/operations.ts')).toEqual(
    expect.arrayContaining(['DropTable', 'DeclareTable']),
  )
})
