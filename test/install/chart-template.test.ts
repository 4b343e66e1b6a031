/** How the Helm chart's templates are made. What real helm renders of them: test/servers/chart.test.ts. */
import { describe, expect, it } from 'vitest';
import {
  block,
  forEach,
  more,
  objectTemplate,
  optional,
  optionalText,
  value,
} from '../../src/install/chart/template.ts';
import { valueRows, valuesText } from '../../src/install/chart/values-text.ts';

const OBJECT = { spec: { replicas: 2, names: ['a', 'b'], map: { x: 'y' } } };

describe('a template', () => {
  it('is the YAML of the object with each edit in its place', () => {
    const text = objectTemplate(OBJECT, [
      value(['spec', 'replicas'], '$.Values.replicas'),
      forEach(['spec', 'names'], '$.Values.names', ['- {{ . }}']),
      block(['spec', 'map'], '$.Values.map'),
      optional(['spec', 'more'], '$.Values.more'),
      optionalText(['spec', 'type'], '$.Values.type'),
    ]);

    expect(text).toBe(`spec:
  replicas: {{ $.Values.replicas }}
  names:
{{- range $.Values.names }}
    - {{ . }}
{{- end }}
  map:
{{ toYaml ($.Values.map) | indent 4 }}
{{- with $.Values.more }}
  more:
{{ toYaml (.) | indent 4 }}
{{- end }}
{{- with $.Values.type }}
  type: {{ . | quote }}
{{- end }}
`);
  });

  it('can have more items at the end of a list', () => {
    expect(objectTemplate({ names: ['a'] }, [more(['names'], '$.Values.names')])).toBe(
      'names:\n  - a\n{{- with $.Values.names }}\n{{ toYaml (.) | indent 2 }}\n{{- end }}\n',
    );
  });

  it.each([
    ['a value that is not there', value(['spec', 'replica'], 'x')],
    ['a list that is none', forEach(['spec', 'map'], 'x', [])],
    ['a key that is there already', optional(['spec', 'map'], 'x')],
    ['a place below nothing', value(['status', 'a', 'b'], 'x')],
    ['items for what is no list', more(['spec', 'map'], 'x')],
  ])('is not made with an edit of %s', (_, edit) => {
    expect(() => objectTemplate(OBJECT, [edit])).toThrow(/cannot|no place/);
  });

  it('is not made of an object that Helm would read as a template', () => {
    expect(() => objectTemplate({ a: '{{ b }}' }, [])).toThrow('holds "{{"');
  });
});

describe('the values of a schema', () => {
  const schema = {
    properties: {
      part: { description: 'A part.', properties: { size: { description: 'Its size.', default: 2 } } },
      map: { description: 'A map.', properties: { a: {} }, default: {} },
      free: { description: 'Without a default, so it is not named.', properties: {} },
    },
  };

  it('stand below their descriptions', () => {
    expect(valuesText(schema)).toBe('# A part.\npart:\n  # Its size.\n  size: 2\n# A map.\nmap: {}\n');
  });

  it('are rows of the manual', () => {
    expect(valueRows(schema)).toEqual([
      ['`part.size`', '`2`', 'Its size.'],
      ['`map`', '`{}`', 'A map.'],
    ]);
  });
});
