import { Document, isNode, isScalar } from 'yaml'
import { gatewaySettingsSchema, type GatewaySettings } from './gateway-settings.ts'
import { redactSecrets } from './loading/redact-secrets.ts'
import { listSettingVariables } from './loading/setting-variables.ts'

/**
 * The settings in force as YAML that means the same to `serve`, with every default, and a comment on what the
 * environment says. For secrets stands what `serve` refuses.
 */
export function formatEffectiveSettings(settings: GatewaySettings, environment: NodeJS.ProcessEnv): string {
  const document = new Document(redactSecrets(gatewaySettingsSchema, toFileForm(settings)))
  for (const { name, path } of listSettingVariables(gatewaySettingsSchema).values()) {
    if (environment[name] === undefined) continue
    const node = document.getIn(path, true)
    if (isScalar(node)) node.comment = ` ${name}`
    else if (isNode(node)) node.commentBefore = ` ${name}`
  }
  return document.toString()
}

/** One upstream without namespaces is written as `upstream`, several as `upstreams`. */
function toFileForm({ upstreams, ...settings }: GatewaySettings): object {
  const [only] = upstreams
  return only === undefined || upstreams.length > 1
    ? { ...settings, upstreams }
    : { ...settings, upstream: only }
}
