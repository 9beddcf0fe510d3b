import { byId, element, facts, quoted, show, table } from './elements.js'
import { formatDuration, formatNumber } from './format.js'

/** @typedef {Awaited<ReturnType<typeof import('../console-state.ts').readConsoleState>>} ConsoleState */
/** @typedef {import('../newest-changes.ts').NewestChanges} NewestChanges */

/**
 * @param {ConsoleState} state
 * @param {NewestChanges['seal']} seal
 */
export function showState(state, seal) {
  const { version, now, startedAt, readiness, upstreams, policies, audit } = state
  const problems = checkTexts(readiness.problems)
  showStatus(problems.length === 0 ? 'ready' : `not ready: ${problems.join('; ')}`, problems.length === 0)
  show(byId('warnings'), checkTexts(readiness.warnings), (text) => element('li', {}, text))
  byId('about').textContent = `version ${version}, up for ${formatDuration(now - startedAt)}`
  show(byId('upstream-state'), [upstreams], upstreamTable)
  show(byId('audit-state'), [auditFacts(audit, seal, now)], facts)
  show(byId('policy-state'), [policyFacts(policies, now)], facts)
}

/** @param {Readonly<Record<string, string>>} found */
function checkTexts(found) {
  return Object.entries(found).map(([name, text]) => `${name}: ${text}`)
}

/**
 * @param {string} text
 * @param {boolean} isGood
 */
export function showStatus(text, isGood) {
  const status = byId('status')
  // Screen readers announce every assignment.
  if (status.textContent !== text) status.textContent = text
  status.className = isGood ? 'pill good' : 'pill bad'
}

/** @param {ConsoleState['upstreams']} upstreams */
function upstreamTable(upstreams) {
  const titles = ['Name', 'Health', 'Circuit', 'Requests', 'Connections', 'Serves']
  const rows = upstreams.map(({ active, pending, connections, maxConnections, ...upstream }) => [
    element('span', { title: upstream.origin }, upstream.name),
    statusText(upstream.healthy ? 'healthy' : 'unhealthy', upstream.healthy),
    statusText(upstream.breaker, upstream.breaker === 'closed'),
    `${formatNumber(active)} active, ${formatNumber(pending)} pending`,
    `${formatNumber(connections)} of ${formatNumber(maxConnections)}`,
    upstream.namespaces ? quoted(upstream.namespaces.join(', ')) : 'everything else',
  ])
  return table('Upstreams', titles, rows)
}

/**
 * @param {string} text
 * @param {boolean} isGood
 */
function statusText(text, isGood) {
  return element('span', { class: isGood ? 'good' : 'bad' }, text)
}

/**
 * @param {ConsoleState['audit']} audit
 * @param {NewestChanges['seal']} seal
 * @param {number} now
 * @returns {readonly (readonly [string, string])[]}
 */
function auditFacts({ writable, queued, dropped, unresolved, head, sinks }, seal, now) {
  return [
    ['State', writable ? 'writable' : 'unavailable: changes are refused'],
    ['Chain', head.chain],
    ['Last record', `${head.seq}, ${head.hash}`],
    [
      'Last seal',
      seal ? `after record ${seal.seq}, ${formatDuration(now - Date.parse(seal.time))} ago` : 'none yet',
    ],
    ['Queued records', formatNumber(queued)],
    ['Pending intents', formatNumber(unresolved)],
    ['Dropped', formatNumber(dropped)],
    ...sinks.map(
      ({ name, lagRecords, lagSeconds }) =>
        /** @type {const} */ ([
          `Sink ${name}`,
          lagRecords === 0
            ? 'up to date'
            : `${formatNumber(lagRecords)} records, ${formatDuration(lagSeconds * 1000)} behind`,
        ]),
    ),
  ]
}

/**
 * @param {ConsoleState['policies']} policies
 * @param {number} now
 * @returns {readonly (readonly [string, string])[]}
 */
function policyFacts({ revision, documents, loadedAt }, now) {
  return [
    ['Revision', revision],
    ['Policies', formatNumber(documents)],
    ['Loaded', `${formatDuration(now - loadedAt)} ago`],
  ]
}
