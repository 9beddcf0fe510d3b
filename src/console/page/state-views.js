import { byId, element, facts, quoted, show } from './elements.js'
import { formatDuration, formatNumber } from './format.js'

/** @typedef {Awaited<ReturnType<typeof import('../console-state.ts').readConsoleState>>} ConsoleState */
/** @typedef {{ readonly seq: number, readonly time: string } | undefined} Seal */
/** @typedef {readonly (readonly [term: string, description: Node | string] | undefined)[]} Facts */

/**
 * @param {ConsoleState} state
 * @param {Seal} seal
 */
export function showState(state, seal) {
  const { version, now, startedAt, readiness, upstreams, policies, audit } = state
  const problems = checkTexts(readiness.problems)
  showStatus(problems.length === 0 ? 'ready' : `not ready: ${problems.join('; ')}`, problems.length === 0)
  show(byId('warnings'), checkTexts(readiness.warnings), (text) => element('li', {}, text))
  byId('about').textContent = `version ${version}, up for ${formatDuration(now - startedAt)}`
  show(byId('upstream-state'), [upstreams], (shown) => facts(upstreamFacts(shown)))
  show(byId('audit-state'), [audit], () => facts(auditFacts(audit, seal, now)))
  show(byId('policy-state'), [policies], () => facts(policyFacts(policies, now)))
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

/**
 * @param {string} text
 * @param {boolean} isGood
 */
function judged(text, isGood) {
  return element('span', { class: isGood ? 'good' : 'bad' }, text)
}

/**
 * @param {ConsoleState['upstreams']} upstreams
 * @returns {Facts}
 */
function upstreamFacts(upstreams) {
  return upstreams.map(({ name, origin, namespaces, healthy, breaker, active, pending }) => [
    name,
    element(
      'span',
      { title: origin },
      judged(healthy ? 'healthy' : 'unhealthy', healthy),
      breaker === 'closed' ? '' : judged(', circuit open', false),
      `, ${formatNumber(active)} active and ${formatNumber(pending)} pending requests, serves `,
      namespaces ? quoted(namespaces.join(', ')) : 'all other objects',
    ),
  ])
}

/**
 * @param {ConsoleState['audit']} audit
 * @param {Seal} seal
 * @param {number} now
 * @returns {Facts}
 */
function auditFacts({ writable, dropped, unresolved, tampered, head, sinks }, seal, now) {
  return [
    ['State', judged(writable ? 'writable' : 'unavailable: changes are refused', writable)],
    tampered === 0 ? undefined : ['Tampered', judged(`${formatNumber(tampered)} changes by others`, false)],
    ['Last', quoted(head)],
    [
      'Signed',
      seal ? `up to record ${seal.seq}, ${formatDuration(now - Date.parse(seal.time))} ago` : 'nothing yet',
    ],
    ['In doubt', formatNumber(unresolved)],
    dropped === 0 ? undefined : ['Lost', judged(`${formatNumber(dropped)} refusals or reloads`, false)],
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
 * @returns {Facts}
 */
function policyFacts({ revision, documents, loadedAt }, now) {
  return [
    ['Policies', formatNumber(documents)],
    ['Loaded', `${formatDuration(now - loadedAt)} ago`],
    ['Revision', quoted(revision.slice(0, 12))],
  ]
}
