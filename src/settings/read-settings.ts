import { dirname, resolve } from 'node:path'
import { isMap, isScalar, LineCounter, parse, parseDocument, type Document, type YAMLParseError } from 'yaml'
import type { z } from 'zod'
import { explainRemovedSetting, removedSettings } from './removed.ts'
import { suggestSimilar } from '../lib/index.ts'
import { findTokenError } from './yaml-tokens.ts'
import { describeIssue } from './describe-issue.ts'
import { convertValues } from './setting-units.ts'
import {
  environmentPrefix,
  environmentVariableName,
  listSettingVariables,
  type SettingVariable,
} from './setting-variables.ts'
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

/** Printed instead of a secret. Settings that contain it are refused, so that it is never used as one. */
export const redactedValue = '(hidden)'
const redactedMessage = 'is a placeholder for a secret; expected the secret, or a file that contains it'

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
  const { applied, diagnostics } = applyEnvironment(document, node, source.environment)
  const content = toPlainValue(document, source.file) ?? {}
  const sent = convertValues(node, content, dirname(resolve(source.file)))
  const result = schema.safeParse(sent)
  const hidden = findRedactedPaths(content).map((path) => ({ path, message: redactedMessage }))
  if (result.success && diagnostics.length + hidden.length === 0) return result.data
  for (const { path, message } of [
    ...hidden,
    ...(result.error?.issues ?? []).flatMap((issue) => describeIssue(issue, node, content)),
  ]) {
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

interface AppliedEnvironment {
  readonly applied: readonly SettingVariable[]
  readonly diagnostics: string[]
}

function applyEnvironment(
  document: Document,
  schema: SchemaNode,
  environment: NodeJS.ProcessEnv,
): AppliedEnvironment {
  const variables = listSettingVariables(schema)
  const applied: SettingVariable[] = []
  const diagnostics: string[] = []
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined) continue
    if (!name.startsWith(environmentPrefix)) {
      const suggestion = isServiceLink(value) ? '' : suggestVariable(name, variables)
      if (suggestion !== '') diagnostics.push(`environment: ${name} is not a setting${suggestion}`)
      continue
    }
    const variable = variables.get(name)
    const error =
      variable === undefined
        ? `is not a setting${explainRemovedVariable(name) || suggestVariable(name, variables) || `; names are built as in ${environmentPrefix}UPSTREAM__URL`}`
        : applyVariable(document, variable, value)
    if (error !== undefined) diagnostics.push(`environment: ${name} ${error}`)
    else if (variable !== undefined) applied.push(variable)
  }
  return { applied, diagnostics }
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

function applyVariable(
  document: Document,
  { path, isString }: SettingVariable,
  text: string,
): string | undefined {
  let value: unknown = text
  const error = isString ? undefined : findTokenError(text)
  if (error !== undefined) return `cannot be read: ${error.message}`
  try {
    if (!isString) value = parse(text, { logLevel: 'error' })
  } catch {
    return 'is not valid YAML'
  }
  for (let length = 1; length < path.length; length += 1) {
    const parent = document.getIn(path.slice(0, length), true)
    // A section without members (`upstream:`) is null in YAML.
    if (isScalar(parent) && parent.value === null) document.deleteIn(path.slice(0, length))
    else if (parent !== undefined && !isMap(parent)) {
      return `cannot be set: ${path.slice(0, length).join('.')} is not a section in the file`
    }
  }
  if (document.contents !== null && !isMap(document.contents))
    return 'cannot be set: the file is not a map of settings'
  document.setIn(path, document.createNode(value))
  return undefined
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

function findRedactedPaths(
  settings: unknown,
  path: readonly (string | number)[] = [],
): (string | number)[][] {
  if (settings === redactedValue) return [[...path]]
  if (Array.isArray(settings))
    return settings.flatMap((item, index) => findRedactedPaths(item, [...path, index]))
  if (typeof settings !== 'object' || settings === null) return []
  return Object.entries(settings).flatMap(([key, value]) => findRedactedPaths(value, [...path, key]))
}
