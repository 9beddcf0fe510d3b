import { Document, isNode, isScalar } from 'yaml'
import { gatewaySettingsSchema, type GatewaySettings } from './gateway-settings.ts'
import { listSettingVariables, mapSettings, toSchemaNode } from '../settings/index.ts'
import { redactedValue } from './upstream/upstream-settings.ts'

/**
 * Formats the effective settings as YAML with the same meaning for `serve`: all defaults filled in, comments on values
 * from the environment, and secrets replaced by a value that `serve` refuses.
 */
export function formatEffectiveSettings(settings: GatewaySettings, environment: NodeJS.ProcessEnv): string {
  const schema = toSchemaNode(gatewaySettingsSchema)
  const redacted = mapSettings(schema, toFileForm(settings), (value, nodes) =>
    nodes.some(({ secret }) => secret === true) ? redactedValue : value,
  )
  const document = new Document(redacted)
  for (const { name, path } of listSettingVariables(schema).values()) {
    if (environment[name] === undefined) continue
    const node = document.getIn(path, true)
    if (isScalar(node)) node.comment = ` ${name}`
    else if (isNode(node)) node.commentBefore = ` ${name}`
  }
  return document.toString()
}

/** A single upstream without namespaces is written as `upstream`, others as `upstreams`. */
function toFileForm({ upstreams, ...settings }: GatewaySettings): object {
  const [only] = upstreams
  return only === undefined || upstreams.length > 1
    ? { ...settings, upstreams }
    : { ...settings, upstream: only }
}
