// A form made from a tool's schema. Texts, numbers and choices have fields; lists and objects are written as JSON.
const KINDS = { string: 'a text', number: 'a number', integer: 'a whole number', boolean: 'yes or no', array: 'a list, as JSON', object: 'an object, as JSON' };
const LONG = /^(content|text|body|code|sql|query|markdown|message|description|prompt)$/i;

// The one kind that a schema means. What may also be null is what it is otherwise.
function meant(schema) {
  if (typeof schema !== 'object' || schema === null) return {};
  const some = schema.anyOf || schema.oneOf;
  const others = Array.isArray(some) ? some.filter((one) => one && one.type !== 'null') : [];
  if (others.length === 1) return { ...meant(others[0]), ...schema, type: meant(others[0]).type };
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((one) => one !== 'null');
    return { ...schema, type: types.length === 1 ? types[0] : undefined };
  }
  return schema;
}

function choiceOf(values, isRequired) {
  const made = element('select');
  if (!isRequired) made.append(element('option', '', { value: '' }));
  values.forEach((value, at) => made.append(element('option', typeof value === 'string' ? value : JSON.stringify(value), { value: String(at) })));
  return { control: made, read: () => (made.value === '' ? undefined : values[Number(made.value)]) };
}

function numberOf(schema) {
  const made = element('input', undefined, { type: 'number', step: schema.type === 'integer' ? '1' : 'any' });
  for (const [from, to] of [['minimum', 'min'], ['maximum', 'max']]) if (typeof schema[from] === 'number') made[to] = schema[from];
  return { control: made, read: () => (made.value === '' ? undefined : Number(made.value)) };
}

function textOf(name, schema, isRequired) {
  const made = element(LONG.test(name) || schema.maxLength > 500 ? 'textarea' : 'input', undefined, { autocomplete: 'off', spellcheck: false });
  // An empty text may be meant, if there has to be one.
  return { control: made, read: () => (made.value === '' && !isRequired ? undefined : made.value) };
}

function jsonOf() {
  const made = element('textarea', undefined, { spellcheck: false });
  return { control: made, read: () => (made.value.trim() === '' ? undefined : JSON.parse(made.value)) };
}

function fieldOf(name, given, isRequired) {
  const schema = meant(given);
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return choiceOf(schema.enum, isRequired);
  if ('const' in schema) return choiceOf([schema.const], isRequired);
  if (schema.type === 'boolean') return choiceOf([true, false], isRequired);
  if (schema.type === 'number' || schema.type === 'integer') return numberOf(schema);
  return schema.type === 'string' ? textOf(name, schema, isRequired) : jsonOf();
}

// Fills the form; returns what reads it: the arguments, or null if a field is not well filled in.
function makeForm(place, schema) {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const properties = Object.entries(typeof schema.properties === 'object' && schema.properties ? schema.properties : {});
  const isFree = properties.length === 0 && (schema.additionalProperties || schema.anyOf || schema.oneOf || schema.$ref);
  const wanted = isFree ? [['', { type: 'object', description: 'All arguments' }]] : properties;
  const fields = wanted.map(([name, given], at) => {
    const field = { name, isRequired: required.has(name), ...fieldOf(name, given, required.has(name)) };
    const { control } = field;
    const label = element('label', name || 'Arguments', { htmlFor: `field-${at}` });
    const kind = meant(given);
    const said = [field.isRequired ? 'required' : '', KINDS[kind.type] || (kind.enum ? 'one of these' : 'JSON'), kind.default === undefined || kind.default === null ? '' : `else ${JSON.stringify(kind.default)}`];
    control.id = `field-${at}`;
    control.setAttribute('aria-describedby', `about-${at}`);
    if (field.isRequired) control.setAttribute('aria-required', 'true');
    const about = element('small', said.filter(Boolean).join(', '), { id: `about-${at}`, dir: 'auto' });
    if (kind.description) about.append(`. ${kind.description}`);
    const line = element('div');
    line.append(label, about, control);
    return Object.assign(field, { line, about });
  });
  place.replaceChildren(...(fields.length ? fields.map((one) => one.line) : [element('p', 'It takes none.', { className: 'note' })]));

  return () => {
    const read = {};
    let bad = null;
    for (const one of fields) {
      one.control.removeAttribute('aria-invalid');
      let value;
      try {
        if (one.control.validity?.badInput) throw new SyntaxError('It is no number');
        value = one.read();
      } catch (error) {
        one.control.setAttribute('aria-invalid', 'true');
        say(`${one.name || 'The arguments'}: ${error.message}`);
        bad ||= one.control;
        continue;
      }
      if (value === undefined) continue;
      if (one.name === '') Object.assign(read, value);
      else Object.defineProperty(read, one.name, { value, enumerable: true });
    }
    bad?.focus();
    return bad ? null : read;
  };
}
