import { isMap, isScalar, LineCounter, parse, parseDocument, type Document } from 'yaml'
import { z } from 'zod'

/** The settings cannot be used; the message lists every mistake, one a line, with file and line. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

/** Where settings come from. */
export interface SettingsSource {
  /** The name of the file, for messages. */
  readonly file: string
  /** YAML. */
  readonly text: string
  readonly environment: NodeJS.ProcessEnv
}

const environmentPrefix = 'CATALOG_GATEWAY__'

interface SchemaNode {
  readonly type?: string
  readonly properties?: Readonly<Record<string, SchemaNode>>
}

interface Variable {
  readonly path: readonly string[]
  readonly isText: boolean
}

/**
 * Reads settings of that schema from YAML and from the environment, which wins over the file.
 * Unknown keys and unknown variables of our prefix are mistakes. Throws SettingsError with all mistakes at once.
 */
export function readSettings<Schema extends z.ZodType>(
  schema: Schema,
  source: SettingsSource,
): z.output<Schema> {
  const lines = new LineCounter()
  const document = parseDocument(source.text, { lineCounter: lines, uniqueKeys: true })
  const syntax = document.errors.map(({ pos, message }) =>
    at(source.file, lines, pos[0], message.split('\n')[0] ?? ''),
  )
  if (syntax.length > 0) throw new SettingsError(syntax.join('\n'))
  const mistakes = applyEnvironment(document, schema, source.environment)
  const result = schema.safeParse(document.toJS({ maxAliasCount: 100 }) ?? {})
  if (result.success && mistakes.length === 0) return result.data
  for (const issue of result.error?.issues ?? []) {
    for (const { path, message } of mistakesOf(issue)) {
      mistakes.push(
        at(source.file, lines, offsetOf(document, path), `${path.join('.') || 'the file'}: ${message}`),
      )
    }
  }
  throw new SettingsError(mistakes.join('\n'))
}

/** Puts what the environment says into the document, and answers what is wrong with it. */
function applyEnvironment(document: Document, schema: z.ZodType, environment: NodeJS.ProcessEnv): string[] {
  const variables = variablesOf(
    z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as SchemaNode,
    [],
  )
  const mistakes: string[] = []
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith(environmentPrefix) || value === undefined) continue
    const variable = variables.get(name)
    if (variable === undefined) {
      mistakes.push(
        `environment: ${name} is no setting; the names are made as in ${environmentPrefix}UPSTREAM__URL`,
      )
    } else {
      document.setIn(variable.path, document.createNode(variable.isText ? value : parse(value)))
    }
  }
  return mistakes
}

/** Every setting by the name of its variable: `timeouts.connectMs` is `..TIMEOUTS__CONNECT_MS`. */
function variablesOf(node: SchemaNode, path: readonly string[]): Map<string, Variable> {
  if (node.properties === undefined) {
    const words = path.map((key) => key.replaceAll(/[A-Z]/g, '_$&').toUpperCase())
    return new Map([[environmentPrefix + words.join('__'), { path, isText: node.type === 'string' }]])
  }
  return new Map(
    Object.entries(node.properties).flatMap(([key, child]) => [...variablesOf(child, [...path, key])]),
  )
}

function mistakesOf(issue: z.core.$ZodIssue): { path: (string | number)[]; message: string }[] {
  const path = issue.path.map((key) => (typeof key === 'number' ? key : String(key)))
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: [...path, key], message: 'there is no such setting' }))
  }
  return [{ path, message: issue.message }]
}

/** Where the value of that path begins, or that of the nearest parent that is there. */
function offsetOf(document: Document, path: readonly (string | number)[]): number {
  for (let length = path.length; length > 0; length -= 1) {
    const parent = document.getIn(path.slice(0, length - 1), true)
    const last = path[length - 1]
    if (isMap(parent)) {
      const pair = parent.items.find(({ key }) => isScalar(key) && key.value === last)
      if (isScalar(pair?.key) && pair.key.range) return pair.key.range[0]
    }
    const node = document.getIn(path.slice(0, length), true)
    if (isScalar(node) && node.range) return node.range[0]
  }
  return 0
}

function at(file: string, lines: LineCounter, offset: number, message: string): string {
  return `${file}:${lines.linePos(offset).line}: ${message}`
}
