"""`python tests/print_glossary.py > docs/glossary.md`."""

from biasflow.theory.glossary import glossary_page

if __name__ == "__main__":
    print(glossary_page(), end="")
