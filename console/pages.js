/**
 * The script of every page of the console. The markup says what it does:
 *
 * - `form[data-send="POST /path"]` is sent as JSON. `data-with` adds a member that no field has, `data-then` names what
 *   follows, `data-done` is the text that is shown then, `data-confirm` asks before.
 * - `[data-from="/path"]` is filled with the answer to a GET: `data-text`, `data-value` and `data-href` name members,
 *   `data-if` shows an element if a member is true, and `data-each` repeats its template for each item of an array.
 *
 * Texts of clients, accounts and agents are set as text, never parsed as markup.
 */

/**
 * @typedef {{ readonly status: number, readonly data: unknown, readonly hasMore: boolean }} Answer
 * @typedef {{ readonly status?: number, readonly field?: string | undefined, readonly requestId?: string | null,
 *   readonly details?: unknown }} About
 */

class Refusal extends Error {
  /** @param {string} message @param {About} [about] without a status if there was no answer */
  constructor(message, about = {}) {
    super(message);
    this.about = about;
  }
}

/** A person hardly notices a shorter wait. Longer ones are shown instead. */
const RETRY_S_MAX = 3;

/**
 * Retries once after a short `Retry-After`: a repeat is safe, because every write has a key.
 * @param {string} method @param {string} path @param {string} [body] @param {string} [key]
 * @returns {Promise<Answer>}
 */
const send = async (method, path, body, key = crypto.randomUUID()) => {
  const headers = {
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...(method === 'GET' ? {} : { 'Idempotency-Key': key }),
  };
  const request = () =>
    fetch(path, { method, headers, ...(body === undefined ? {} : { body }) }).catch(() => {
      throw new Refusal('The service cannot be reached. Try again.');
    });
  let response = await request();
  if (!response.ok && retryAfterS(response) <= RETRY_S_MAX) {
    await new Promise((resolve) => setTimeout(resolve, retryAfterS(response) * 1_000));
    response = await request();
  }
  const { status } = response;
  /** @type {{ data?: unknown, error?: { message: string, field?: string, details?: unknown }, meta?: unknown }} */
  const { data, error, meta } = await response.json().catch(() => ({}));
  if (response.ok) return { status, data, hasMore: at(meta, 'pagination.hasMore') === true };
  const message = waitMessage(response) ?? error?.message ?? `The service answered with status ${status}.`;
  const requestId = response.headers.get('X-Request-Id');
  throw new Refusal(message, { status, field: error?.field, details: error?.details, requestId });
};

/** @param {Response} response */
const retryAfterS = (response) => Number(response.headers.get('Retry-After') ?? Infinity);

/** @param {Response} response */
const waitMessage = (response) => {
  const waitS = retryAfterS(response);
  if (waitS === Infinity) return undefined;
  const what = response.status === 429 ? 'Too many requests' : 'The service is busy';
  const at = new Date(Date.now() + waitS * 1_000).toLocaleTimeString();
  return `${what}. Try again ${waitS > 90 ? `at ${at}` : `in ${waitS} s`}.`;
};

// What the address holds.

/** The token of a link. It leaves the address at once, so that neither the history nor a screenshot shows it. */
const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? '';
if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search);
// A link to this same page, opened in its tab, loads nothing by itself.
addEventListener('hashchange', () => location.reload());

/** The value of `{uid}` in `data-from` and `data-send`, on the page `/console/oauth/{uid}`. */
const uid = location.pathname.split('/').at(-1) ?? '';

/** Only paths of this origin, and only pages: another site must not choose where a person arrives after sign-in. */
const nextPage = () => {
  const next = new URLSearchParams(location.search).get('next') ?? '';
  const url = next.startsWith('/') ? URL.parse(next, location.origin) : null;
  const isOwn = url?.origin === location.origin && /^\/(?:console|authorize)\//.test(url.pathname);
  return isOwn ? url.pathname + url.search : undefined;
};

const signInPage = () => `/console/sign-in?next=${encodeURIComponent(location.pathname)}`;

// Filling elements from an answer.

/** @param {unknown} value @param {string} path e.g. `client.name`; empty for the value itself @returns {unknown} */
const at = (value, path) => {
  const [name = '', ...rest] = path.split('.');
  if (name === '' || typeof value !== 'object' || value === null) return name === '' ? value : undefined;
  return at(/** @type {Record<string, unknown>} */ (value)[name], rest.join('.'));
};

/** @param {unknown} value @param {string} path @returns {string | undefined} */
const textAt = (value, path) => {
  const found = at(value, path);
  return typeof found === 'string' || typeof found === 'number' ? String(found) : undefined;
};

/**
 * @param {ParentNode} root
 * @param {string} name of a data attribute, e.g. `text`
 * @param {(element: HTMLElement, value: string) => void} use
 */
const each = (root, name, use) => {
  for (const element of root.querySelectorAll(`[data-${name}]`)) {
    if (element instanceof HTMLElement) use(element, element.dataset[name] ?? '');
  }
};

/** @param {HTMLElement} element @param {string} [text] */
const setText = (element, text) => {
  if (text === undefined) return;
  const { split } = element.dataset;
  element.textContent = split === undefined ? text : (text.match(/.{1,4}/g) ?? []).join(split);
  if (!(element instanceof HTMLTimeElement)) return;
  element.dateTime = text;
  element.textContent = new Date(text).toLocaleString();
};

/** @param {string} condition `member`, `!member`, `member=value` @param {unknown} data @returns {boolean} */
const holds = (condition, data) => {
  if (condition.startsWith('!')) return !holds(condition.slice(1), data);
  const [path = '', expected] = condition.split('=');
  const value = at(data, path);
  return expected === undefined ? Boolean(value) : value === expected;
};

/** @param {ParentNode} root @param {unknown} data */
const fill = (root, data) => {
  each(root, 'each', (list) => {
    for (const row of list.querySelectorAll(':scope > :not(template)')) row.remove();
  });
  each(root, 'text', (element, path) => setText(element, textAt(data, path)));
  each(root, 'value', (element, path) => {
    if (element instanceof HTMLSelectElement || element instanceof HTMLInputElement)
      element.value = textAt(data, path) ?? '';
  });
  each(root, 'href', (element, path) => {
    const address = textAt(data, path);
    if (address?.startsWith('otpauth:')) element.setAttribute('href', address);
  });
  each(root, 'send', (form, path) => {
    form.dataset['send'] = path.replace(/\{(\w+)\}/, (known, name) => textAt(data, name) ?? known);
  });
  each(root, 'if', (element, condition) => {
    element.hidden = !holds(condition, data);
  });
  each(root, 'each', (list, path) => fillList(list, at(data, path)));
};

/** @param {HTMLElement} list @param {unknown} items */
const fillList = (list, items) => {
  const template = list.querySelector('template');
  if (template === null || !Array.isArray(items)) return;
  for (const item of items) {
    const row = document.importNode(template.content, true);
    fill(row, item);
    list.append(row);
  }
};

/** @param {string} path */
const readAll = async (path) => {
  const first = await send('GET', path);
  if (!Array.isArray(first.data)) return first.data;
  const items = [...first.data];
  for (let { hasMore } = first; hasMore;) {
    const answer = await send('GET', `${path}?take=100&skip=${items.length}`);
    const page = Array.isArray(answer.data) ? answer.data : [];
    items.push(...page);
    hasMore = answer.hasMore && page.length > 0;
  }
  return items;
};

/** @param {HTMLElement} section */
const load = async (section) => {
  const path = (section.dataset['from'] ?? '').replace('{uid}', uid);
  try {
    const data = await readAll(path);
    clearProblems(section);
    fill(section, data);
    section.hidden = false;
    // Sections that only some people see ask for nothing until it is known that this is one of them.
    each(document, 'needs', (other, condition) => {
      if (other.hidden && holds(condition, data)) void load(other);
    });
  } catch (error) {
    if (refusalOf(error).about.status === 401) return location.replace(signInPage());
    section.hidden = false;
    showProblem(section, error);
  }
};

// Problems.

/** @param {unknown} error */
const refusalOf = (error) =>
  error instanceof Refusal ? error : new Refusal('The page has failed. Load it again.');

/** @param {ParentNode} root */
const clearProblems = (root) => {
  for (const problem of root.querySelectorAll('.problem')) problem.remove();
  for (const input of root.querySelectorAll('[aria-invalid]')) {
    input.removeAttribute('aria-invalid');
    input.removeAttribute('aria-describedby');
  }
};

/** @param {HTMLElement} root @param {string} [field] @returns {HTMLElement | undefined} */
const shownField = (root, field) => {
  const found = field === undefined ? null : root.querySelector(`[name="${CSS.escape(field)}"]`);
  return found instanceof HTMLElement && found.closest('[hidden]') === null ? found : undefined;
};

/**
 * Next to the field at fault, if the form has it.
 * @param {HTMLElement} root @param {unknown} error @returns {HTMLElement} where a person goes on
 */
const showProblem = (root, error) => {
  clearProblems(root);
  const { message, about } = refusalOf(error);
  const text = document.createElement('p');
  text.className = 'problem';
  text.id = `problem-${Date.now()}`;
  text.role = 'alert';
  text.tabIndex = -1;
  text.textContent = message;
  if (about.requestId) {
    const small = document.createElement('small');
    small.textContent = `Request ${about.requestId}`;
    text.append(small);
  }
  const field = shownField(root, about.field);
  if (field === undefined) root.append(text);
  else (field.closest('label') ?? field).after(text);
  field?.setAttribute('aria-invalid', 'true');
  field?.setAttribute('aria-describedby', text.id);
  return field ?? text;
};

/** @param {string} text */
const announce = (text) => document.querySelector('#status')?.replaceChildren(text);

// Forms.

/** @type {string | undefined} */
let ticket;

/** Members that no field has. @type {Readonly<Record<string, () => Promise<Record<string, string>>>>} */
const members = {
  token: async () => ({ token }),
  // Only now, so that a program that opens the links of a mail does not use up the link.
  ticket: async () => {
    if (ticket === undefined) {
      const { data } = await send('POST', '/auth/password-reset/verify', JSON.stringify({ token }));
      ticket = textAt(data, 'ticket') ?? '';
    }
    return { ticket };
  },
};

/** @param {HTMLFormElement} form */
const valuesOf = (form) => {
  /** @type {Record<string, unknown>} */
  const values = {};
  for (const box of form.querySelectorAll('input[type="checkbox"]'))
    values[box.getAttribute('name') ?? ''] = [];
  for (const [name, value] of new FormData(form)) {
    const known = values[name];
    if (Array.isArray(known)) known.push(value);
    else if (value !== '') values[name] = value;
  }
  return values;
};

/** What follows a form. @type {Readonly<Record<string, (answer: Answer, form: HTMLFormElement) => void>>} */
const followers = {
  enter: ({ status }, form) => {
    if (status === 202) followers['finish']?.({ status, data: undefined, hasMore: false }, form);
    else location.assign(nextPage() ?? '/console/account');
  },
  leave: () => location.assign(signInPage()),
  follow: ({ data }) => location.assign(textAt(data, 'redirectTo') ?? ''),
  reload: () => location.reload(),
  finish: (_, form) => {
    const end = document.createElement('p');
    end.tabIndex = -1;
    end.textContent = form.dataset['done'] ?? '';
    form.replaceWith(end);
    end.focus();
  },
  show: ({ data }, form) => {
    const target = document.getElementById(form.dataset['shows'] ?? '');
    if (target === null) return;
    fill(target, data);
    target.hidden = false;
    target.focus();
  },
};

/**
 * Keys of forms without an answer: the same input again is the same request.
 * @type {WeakMap<HTMLFormElement, { body: string, key: string }>}
 */
const unanswered = new WeakMap();

/** @param {HTMLFormElement} form */
const submit = async (form) => {
  const [method = '', path = ''] = (form.dataset['send'] ?? '').replace('{uid}', uid).split(' ');
  const extra = await members[form.dataset['with'] ?? '']?.();
  const body = JSON.stringify({ ...valuesOf(form), ...extra });
  const before = unanswered.get(form);
  const key = before?.body === body ? before.key : crypto.randomUUID();
  unanswered.set(form, { body, key });
  try {
    const answer = await send(method, path, method === 'DELETE' ? undefined : body, key);
    unanswered.delete(form);
    clearProblems(form);
    await finish(answer, form);
  } catch (error) {
    const { status = 500 } = refusalOf(error).about;
    if (status < 500) unanswered.delete(form);
    throw error;
  }
};

/** @param {Answer} answer @param {HTMLFormElement} form */
const finish = async (answer, form) => {
  const { then = '', done } = form.dataset;
  const section = form.closest('section');
  form.reset();
  followers[then]?.(answer, form);
  if (then !== '' && then !== 'show') return;
  if (section?.dataset['from'] !== undefined) await load(section);
  if (!form.isConnected) section?.querySelector('h2')?.focus();
  if (done !== undefined) announce(done);
};

/** @param {HTMLFormElement} form @param {unknown} error */
const refuse = (form, error) => {
  const code = form.querySelector('label[data-code]');
  const isNeeded = at(refusalOf(error).about.details, 'reason') === 'code-required';
  if (!isNeeded || !(code instanceof HTMLElement) || !code.hidden) return showProblem(form, error).focus();
  clearProblems(form);
  code.hidden = false;
  code.querySelector('input')?.focus();
};

/** @param {SubmitEvent} event */
const onSubmit = async (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement)) return;
  event.preventDefault();
  const { confirm: question } = form.dataset;
  if (form.ariaBusy === 'true' || (question !== undefined && !confirm(question))) return;
  form.ariaBusy = 'true';
  announce('');
  try {
    await submit(form);
  } catch (error) {
    refuse(form, error);
  } finally {
    form.ariaBusy = 'false';
  }
};

const start = () => {
  const main = /** @type {HTMLElement} */ (document.querySelector('main'));
  main.hidden = false;
  if (!isSecureContext) {
    // A form without this script would go into the address, with its password.
    main.replaceChildren();
    showProblem(main, new Refusal('Open this page with https: browsers keep a sign-in only there.'));
    return;
  }
  each(document, 'token', (element, wanted) => {
    element.hidden = (wanted === 'yes') !== (token !== '');
  });
  each(document, 'keeps', (link) => {
    const next = nextPage();
    if (next !== undefined && link instanceof HTMLAnchorElement)
      link.search = `?next=${encodeURIComponent(next)}`;
  });
  document.addEventListener('submit', (event) => void onSubmit(event));
  // `autofocus` has no effect in a part that was hidden when the page was loaded.
  each(document, 'focus', (input) => input.focus());
  each(document, 'from', (section) => {
    if (section.dataset['needs'] === undefined) void load(section);
  });
};

start();
