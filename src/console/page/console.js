import { openAccessView, showAccess } from './access-view.js'
import { openSearch, showNewest } from './audit-view.js'
import { announce, byId, element, errorText, facts, fetchJson, show, timeOfDay } from './elements.js'
import { openPlayground } from './playground-view.js'

/** @typedef {Awaited<ReturnType<typeof import('../console-state.ts').readConsoleState>>} ConsoleState */

const pollIntervalMs = 2000
/**
 * When the gateway sent the shown data, by its own clock.
 * @type {Date | undefined}
 */
let newestAt
/** @type {string | undefined} */
let revision

openSearch()
openAccessView()
openPlayground()
void poll()

/** Polls while the page is visible. */
async function poll() {
  for (;;) {
    if (!document.hidden) await refresh()
    await new Promise((resolve) => setTimeout(resolve, pollIntervalMs))
  }
}

async function refresh() {
  try {
    const signal = AbortSignal.timeout(10_000)
    const { entries, ...state } = await fetchJson('data', {}, { signal })
    showState(state)
    showNewest(entries)
    showFreshness(true)
    newestAt = new Date(state.now)
    const hasChanged = revision !== undefined && revision !== state.revision
    revision = state.revision
    if (hasChanged) showAccess()
  } catch (error) {
    showStatus(`not reachable: ${errorText(error)}`, false)
    showFreshness(false)
  }
}

/** @param {ConsoleState} state */
function showState({ about, problems, warnings, cards }) {
  showStatus(problems.length === 0 ? 'ready' : `not ready: ${problems.join('; ')}`, problems.length === 0)
  show(byId('warnings'), warnings, (text) => element('li', {}, text))
  byId('about').textContent = about
  show(byId('cards'), cards, cardView)
}

/** @param {ConsoleState['cards'][number]} card */
function cardView({ title, facts: rows, found = [] }) {
  const isAlarm = rows.some(([, , isGood]) => isGood === false)
  return element(
    'section',
    { class: isAlarm ? 'alarm' : undefined, 'aria-label': title },
    element('h2', {}, title),
    facts(rows),
    element(
      'ul',
      { class: 'found', tabindex: found.length > 0 ? '0' : undefined },
      ...found.map((text) => element('li', { class: 'id' }, text)),
    ),
  )
}

/**
 * @param {string} text
 * @param {boolean} isGood
 */
function showStatus(text, isGood) {
  const status = byId('status')
  announce(status, text)
  status.className = isGood ? 'pill good' : 'pill bad'
}

/**
 * Greys data that the gateway no longer updates, and says how old it is.
 * @param {boolean} isFresh
 */
function showFreshness(isFresh) {
  document.body.classList.toggle('stale', !isFresh)
  const stale = byId('stale')
  stale.toggleAttribute('hidden', isFresh || newestAt === undefined)
  if (newestAt !== undefined) stale.textContent = `as of ${timeOfDay(newestAt)}`
}
