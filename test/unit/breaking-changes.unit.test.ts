import { describe, expect, it } from '@jest/globals';
import { breakingChanges } from '../support/breaking-changes.ts';

/** The tests replace a part of this text. */
const document = `{
  "paths": { "/things/{id}": { "put": {
    "parameters": [
      { "in": "path", "name": "id", "required": true, "schema": { "type": "string" } },
      { "in": "query", "name": "take", "schema": { "type": "integer", "maximum": 100 } }
    ],
    "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Input" } } } },
    "responses": { "200": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Thing" } } } } }
  } } },
  "components": { "schemas": {
    "Input": { "type": "object", "properties": {
      "name": { "type": "string" }, "kind": { "enum": ["a", "b"] }, "size": { "anyOf": [{ "type": "number" }, { "type": "null" }] }
    }, "required": ["name"] },
    "Thing": { "type": "object", "properties": {
      "id": { "type": "string" }, "status": { "enum": ["NEW"] }, "parts": { "type": "array", "items": { "$ref": "#/components/schemas/Thing" } },
      "size": { "anyOf": [{ "type": "number" }, { "type": "null" }] }
    }, "required": ["id", "status"] }
  } }
}`;

const changesOf = (part: string, replacement: string): readonly string[] => {
  expect(document.split(part)).toHaveLength(2);
  return breakingChanges(JSON.parse(document), JSON.parse(document.replace(part, () => replacement)));
};

describe('a breaking change', () => {
  it.each([
    ['"put"', '"post"', 'PUT /things/{id} is gone'],
    ['"name": "take"', '"name": "limit"', 'PUT /things/{id} query take is gone'],
    ['"name": "take",', '"name": "take", "required": true,', 'PUT /things/{id} query take is required now'],
    ['"maximum": 100', '"maximum": 50', 'PUT /things/{id} query take has maximum 50 now'],
    ['"requestBody": {', '"requestBody": { "required": true,', 'PUT /things/{id} body is required now'],
    ['["name"]', '["name", "kind"]', 'PUT /things/{id} body kind is required now'],
    ['["a", "b"]', '["a"]', 'PUT /things/{id} body kind takes only ["a"] now'],
    [
      '"name": { "type": "string" }',
      '"name": { "type": "number" }',
      'body name was "string" and is "number"',
    ],
    [
      '"size": { "anyOf": [{ "type": "number" }, { "type": "null" }] }\n    }, "required": ["name"]',
      '"size": { "type": "number" } }, "required": ["name"]',
      'PUT /things/{id} body size was "null" and is "number"',
    ],
    ['"200"', '"201"', 'PUT /things/{id} 200 is gone'],
    ['["id", "status"]', '["id"]', 'PUT /things/{id} 200 status may be absent now'],
    ['"id": { "type": "string" }', '"id": { "type": ["string", "null"] }', '200 id was "string" and is'],
    ['"id": { "type": "string" }, "status"', '"status"', 'PUT /things/{id} 200 id is gone'],
  ])('is found: %s becomes %s', (part, replacement, finding) => {
    expect(changesOf(part, replacement).join('\n')).toContain(finding);
  });
});

describe('a compatible change', () => {
  it.each([
    ['"paths": {', '"paths": { "/more": { "get": { "responses": {} } },'],
    ['"parameters": [', '"parameters": [{ "in": "query", "name": "more", "schema": {} },'],
    ['"maximum": 100', '"maximum": 1000'],
    ['["a", "b"]', '["a", "b", "c"]'],
    ['["name"]', '[]'],
    ['["NEW"]', '["NEW", "OLD"]'],
    ['["id", "status"]', '["id", "status", "parts"]'],
    ['"id": { "type": "string" }, "status"', '"id": { "type": "string" }, "more": {}, "status"'],
  ])('is not reported: %s becomes %s', (part, replacement) => {
    expect(changesOf(part, replacement)).toEqual([]);
  });
});
