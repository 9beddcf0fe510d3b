import { dirname, resolve } from 'node:path'
import { isMap, isScalar, LineCounter, parse, parseDocument, type Document, type YAMLParseError } from 'yaml'
import type { z } from 'zod'
import { explainRemovedSetting, removedSettings } from './removed.ts'
import { getMembers, isObject, suggestSimilar } from '../lib/index.ts'
import { findTokenError } from './yaml-tokens.ts'
import { describeIssue, getValue } from './describe-issue.ts'
import { convertValues } from './setting-units.ts'
import { toSchemaNode, type SchemaNode } from './schema-node.ts'

/** Invalid settings. The message lists every error on a line of its own, with file, line and column. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

export interface SettingsSource {
  /** File name for messages; paths are relative to its folder. */
  readonly file: string
  /** YAML. */
  readonly text: string
  readonly environment: NodeJS.ProcessEnv
}

/**
 * Reads settings from YAML and from the environment, which takes precedence. Values with a unit, such as `30s`, become
 * numbers in the unit of their setting, and paths become absolute. Unknown keys and unknown variables with our prefix are
 * errors. Throws SettingsError with all errors at once.
 */
export function readSettings<Schema extends z.ZodType>(
  schema: Schema,
  source: SettingsSource,
): z.output<Schema> {
  const error = findTokenError(source.text)
  if (error !== undefined) throw new SettingsError(`${source.file}:${error.line}: ${error.message}`)
  const lines = new LineCounter()
  // Pretty errors repeat the position and quote the file, which may contain secrets.
  const document = parseDocument(source.text, { lineCounter: lines, uniqueKeys: true, prettyErrors: false })
  const syntax = document.errors
    // Other errors after the first one are only its consequences.
    .filter(({ code }, index) => index === 0 || code === 'DUPLICATE_KEY')
    .map((each) => formatDiagnostic(source.file, lines, each.pos[0], describeSyntaxError(each, source.text)))
  if (syntax.length > 0) throw new SettingsError(syntax.join('\n'))
  const node = toSchemaNode(schema)
  const { content, applied, diagnostics } = applyEnvironment(
    toPlainValue(document, source.file) ?? {},
    listSettingVariables(node),
    source.environment,
  )
  const result = schema.safeParse(convertValues(node, content, dirname(resolve(source.file))))
  if (result.success && diagnostics.length === 0) return result.data
  const problems = (result.error?.issues ?? []).flatMap((issue) => describeIssue(issue, node, content))
  for (const { path, message } of problems) {
    const text = `${path.join('.') || 'the file'}: ${message}`
    const variable = applied.find((each) => each.path.every((key, index) => key === path[index]))
    diagnostics.push(
      variable === undefined
        ? formatDiagnostic(source.file, lines, findOffset(document, path), text)
        : `environment: ${variable.name}: ${text}`,
    )
  }
  throw new SettingsError(diagnostics.join('\n'))
}

/** Names the key of a mistake that the library describes in terms of YAML. */
function describeSyntaxError({ code, message, pos }: YAMLParseError, text: string): string {
  const [, key = '', next = ''] = /^([\w-]+):(\S?)/.exec(text.slice(pos[0])) ?? []
  if (code === 'DUPLICATE_KEY') return `${key}: duplicate key`
  if (code === 'TAB_AS_INDENT') return 'unexpected tab; indent with spaces'
  if (code === 'MULTILINE_IMPLICIT_KEY' && next !== '') return `${key}: expected a space after the colon`
  return message
}

/** Returns the content with the values of variables, the applied variables, and diagnostics for others. */
function applyEnvironment(
  content: unknown,
  variables: ReadonlyMap<string, SettingVariable>,
  environment: NodeJS.ProcessEnv,
) {
  const applied: SettingVariable[] = []
  const diagnostics: string[] = []
  for (const [name, text] of Object.entries(environment)) {
    if (text === undefined) continue
    const variable = variables.get(name)
    const problem =
      variable === undefined ? describeUnknownVariable(name, text, variables) : apply(variable, text)
    if (problem !== undefined) diagnostics.push(`environment: ${name} ${problem}`)
  }
  return { content, applied, diagnostics }

  function apply(variable: SettingVariable, text: string): string | undefined {
    const { path, isString } = variable
    const error = isString ? undefined : findTokenError(text)
    if (error !== undefined) return `cannot be read: ${error.message}`
    for (const length of path.keys()) {
      // A section without members (`upstream:`) is null in YAML.
      const parent = getValue(content, path.slice(0, length)) ?? {}
      const name = path.slice(0, length).join('.') || 'the content'
      if (!isObject(parent)) return `cannot be set: ${name} is not a section in the file`
    }
    try {
      content = setValue(content, path, isString ? text : parse(text, { logLevel: 'error' }))
      applied.push(variable)
      return undefined
    } catch {
      return 'is not valid YAML'
    }
  }
}

/** Returns a copy, since aliases in the file are the same object. */
function setValue(section: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value
  const members = getMembers(section)
  return { ...members, [key]: setValue(members[key], rest, value) }
}

/** Undefined for a variable of another program. */
function describeUnknownVariable(
  name: string,
  text: string,
  variables: ReadonlyMap<string, SettingVariable>,
): string | undefined {
  const suggestion = suggestVariable(name, variables)
  if (!name.startsWith(environmentPrefix))
    return suggestion === '' || isServiceLink(text) ? undefined : `is not a setting${suggestion}`
  const names = `; names are built as in ${environmentPrefix}UPSTREAM__URL`
  return `is not a setting${explainRemovedVariable(name) || suggestion || names}`
}

/** Returns `; did you mean "CATALOG_GATEWAY__LISTEN__PORT"?` for a similar name with our prefix, else an empty string. */
function suggestVariable(name: string, variables: ReadonlyMap<string, SettingVariable>): string {
  return /^CATALOG_GATEWAY_/i.test(name) ? suggestSimilar(name, variables.keys(), maxEdits) : ''
}

/** A variable of a removed setting, or of one in a removed section. */
function explainRemovedVariable(name: string): string {
  for (const key of Object.keys(removedSettings)) {
    const variable = environmentVariableName(key.split('.'))
    if (name === variable || name.startsWith(`${variable}__`)) return explainRemovedSetting(key.split('.'))
  }
  return ''
}

/** With more edits, a short variable that belongs to another program would be similar to ours. */
const maxEdits = 3

/** Kubernetes sets such variables for a Service whose name begins with that of the program. */
function isServiceLink(value: string): boolean {
  return /^(?:tcp|udp|sctp):/.test(value)
}

/** Converts the document to plain values. Throws SettingsError for an unresolved alias, and for too many aliases. */
function toPlainValue(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    throw new SettingsError(`${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Offset of the value at that path, or of its nearest existing parent. */
function findOffset(document: Document, path: readonly (string | number)[]): number {
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

function formatDiagnostic(file: string, lines: LineCounter, offset: number, message: string): string {
  const { line, col } = lines.linePos(offset)
  return `${file}:${line}:${col}: ${message}`
}

export const environmentPrefix = 'CATALOG_GATEWAY__'

export interface SettingVariable {
  readonly name: string
  readonly path: readonly string[]
  readonly isString: boolean
}

/** Environment variable of a setting: `timeouts.drainTimeoutMs` is `..TIMEOUTS__DRAIN_TIMEOUT_MS`. */
export function environmentVariableName(path: readonly string[]): string {
  const words = path.map((key) => key.replaceAll(/[A-Z]/g, '_$&').toUpperCase())
  return environmentPrefix + words.join('__')
}

export function listSettingVariables(schema: SchemaNode): ReadonlyMap<string, SettingVariable> {
  return new Map(collectVariables(schema, []).map((variable) => [variable.name, variable]))
}

function collectVariables(node: SchemaNode, path: readonly string[]): readonly SettingVariable[] {
  if (node.properties === undefined) {
    return [{ name: environmentVariableName(path), path, isString: node.type === 'string' }]
  }
  return Object.entries(node.properties).flatMap(([key, child]) => collectVariables(child, [...path, key]))
}
