import { element } from './elements.js'

let gatewayUrl = 'http://127.0.0.1:2333'

/**
 * Sets the URL of the catalog in the commands. A gateway that listens on all addresses has the host name of this page.
 * @param {string} url
 */
export function setGatewayUrl(url) {
  gatewayUrl = url.replace(/^(https?:\/\/)(?:0\.0\.0\.0|\[::\])(?=[:/]|$)/, `$1${location.hostname}`)
}

/**
 * A command to copy.
 * @param {string} command
 */
export function commandView(command) {
  const copy = element('button', { type: 'button' }, 'Copy command')
  copy.addEventListener('click', () => {
    void navigator.clipboard.writeText(command).then(
      () => (copy.textContent = 'Copied'),
      () => (copy.textContent = 'Select and copy the text'),
    )
  })
  return element('span', {}, element('code', {}, command), ' ', copy)
}

/** Is refused, as it has no credential. */
export function refusedCommand() {
  return `curl '${gatewayUrl}/v1/namespace/$/list'`
}

/** Creates a namespace, with the API key in the variable KEY. */
export function createCommand() {
  return `curl -X POST -H "x-api-key: $KEY" -H 'content-type: application/json' -d '{}' '${gatewayUrl}/v1/namespace/example/create'`
}
